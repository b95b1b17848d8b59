"""Rooms and walls: who may import whom, no cycles, nothing heavy before it is used."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping

import pytest

from tests.house.source import ENTRY, LINKED, OURS, Module, closure, in_circles, modules

CORE = ("bastion.model", "bastion.stores", "bastion.platform", "bastion.journal", "bastion.schedule")

WALLS: Mapping[str, tuple[str, ...]] = {
    "bastion.quota": ("bastion.quota",),
    "bastion.model": ("bastion.model", "bastion.quota"),
    "bastion.stores": ("bastion.stores", "bastion.model"),
    "bastion.platform": ("bastion.platform", "bastion.model"),
    "bastion.journal": ("bastion.journal", "bastion.stores", "bastion.model", "bastion.quota"),
    "bastion.schedule": ("bastion.schedule", "bastion.journal", "bastion.model", "bastion.quota"),
    "bastion.service": ("bastion.service", *CORE, "bastion.quota"),
    "bastion.simulate": ("bastion.simulate", "bastion.schedule", "bastion.journal", "bastion.model", "bastion.quota"),
    "bastion.testing": ("bastion.testing", *CORE[:4], "bastion.quota"),
    "bastion.bundler": ("bastion.bundler", "bastion.model"),
    "bastion.launcher": ("bastion.launcher", *CORE, "bastion.quota"),
    "bastion.runners": ("bastion.runners", "bastion.bundler", *CORE[:4], "bastion.quota.resources"),
    "bastion.cli": ("bastion",),
    ENTRY: ("bastion.cli", "bastion.runners"),
    "bastion.former": (),
}
"""Who may import whom: folders, and what is below them."""

HEAVY = {
    "aiobotocore",
    "aiohttp",
    "azure",
    "botocore",
    "docker",
    "fsspec",
    "google",
    "googleapiclient",
    "httplib2",
    "kubernetes",
    "google_crc32c",
    "pathspec",
    "pygal",
    "pynvml",
    "requests",
    "rich",
    "s3fs",
    "tenacity",
    "textual",
    "tomlkit",
    "urllib3",
    "zstandard",
}
"""What takes long to import: only inside the functions that use it."""

HEAVY_OF_PYTHON = {"asyncio"}
"""The same, in the standard library."""

SCREENS = {"bastion.cli.bastion.parts.top_app"}
"""Ours, and as heavy as what they derive from, which they import at their top: imported inside functions themselves."""

ON_DEMAND: Mapping[str, set[str]] = {
    "bastion.cli.hosting.where": {"bastion.cli.hosting.google_host", "bastion.cli.hosting.kubernetes_host"},
    "bastion.cli.launch.ls": {"bastion.launcher.read.pending_reasons"},
    "bastion.cli.terminal.main": {"bastion.cli.terminal.help"},
    "bastion.launcher.read.reader": {"bastion.launcher.read.stored_spec"},
    "bastion.model.settings.tables": {"bastion.model.job.instances"},
    "bastion.stores.opening": {
        f"bastion.stores.{store}" for store in ("fsspec", "gcs", "local", "memory", "routed", "s3")
    },
}
"""Modules that import others of ours inside functions, because most calls do without.

A cloud that most bastions do not live in, the decision where no job waits, requests where the inbox is empty, help,
instance types, stores of other URLs.
"""

LIGHT = {"absl", "msgspec", "psutil"}
SERVER = {"bastion.service.loop", "bastion.service.tick", "bastion.service.reconcile", "bastion.journal.journal"}


@pytest.mark.parametrize("room", WALLS)
def test_a_room_imports_only_what_its_walls_let_in(room: str) -> None:
    inside = [module for module in modules().values() if _is_below(module.name, room)]
    assert inside
    assert [
        f"{module.shown}:{imported.line} imports {imported.module}"
        for module in inside
        for imported in module.imports
        if _is_below(imported.module, OURS) and not any(_is_below(imported.module, let_in) for let_in in WALLS[room])
    ] == []


def test_every_module_stands_behind_a_wall() -> None:
    assert [name for name in modules() if name != OURS and not any(_is_below(name, room) for room in WALLS)] == []


def test_a_file_names_its_own_room_relatively_and_others_from_the_import_name() -> None:
    """So that a crossing is seen where it stands, and a room's files find each other under both of its paths."""
    wrong = []
    for module in modules().values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.level == 0 and _room(node.module or "") == module.room:
                wrong += [f"{module.shown}:{node.lineno} names {node.module}"] if module.name != ENTRY else []
    assert wrong == []


def test_no_module_imports_itself_on_some_way() -> None:
    ways = {module.name: {i.module for i in module.imports if i.module in modules()} for module in modules().values()}
    assert in_circles(ways) == set()


def test_only_the_heavy_are_imported_inside_functions_and_always_there() -> None:
    wrong = []
    for module in modules().values():
        for imported in module.imports:
            ours = imported.module in SCREENS | ON_DEMAND.get(module.name, set())
            heavy = imported.module.split(".")[0] in HEAVY | HEAVY_OF_PYTHON or ours
            if imported.inner != (heavy and module.name not in SCREENS) and module.name != ENTRY:
                wrong.append(f"{module.shown}:{imported.line} imports {imported.module}")
    assert wrong == []


def test_what_is_not_ours_is_known_to_be_light_or_heavy() -> None:
    strangers = {imported.module.split(".")[0] for module in modules().values() for imported in module.imports}
    assert strangers - set(sys.stdlib_module_names) - {OURS} == HEAVY | LIGHT


def test_a_module_is_imported_by_its_text_in_one_place_only() -> None:
    users = [
        module.name for module in modules().values() if "import_module(" in module.text or "__import__" in module.text
    ]
    assert users == ["bastion.former", "bastion.cli.terminal.main"]


def test_only_the_command_line_runs_the_loop() -> None:
    users = {m.room for m in modules().values() for i in m.imports if i.module == "bastion.service.loop"}
    assert users == {"cli"}


def test_no_client_loads_a_runner_or_the_loop() -> None:
    clients = closure(name for name in modules() if name.startswith(("bastion.cli.launch.", "bastion.launcher.")))
    assert "bastion.launcher.submit.sending" in clients
    runners = {
        name for name in clients if name.endswith((".runner", ".fleet")) or _is_below(name, "bastion.runners.worker")
    }
    assert runners | (clients & SERVER) == set()


def test_the_worker_loads_neither_the_scheduler_nor_a_client() -> None:
    worker = closure(["bastion.runners.programs.worker"])
    assert "bastion.runners.worker.run" in worker
    assert {
        name
        for name in worker
        if name.startswith("bastion.launcher") or name in SERVER | {"bastion.quota.policy.scheduler"}
    } == set()


def test_packages_hold_a_docstring_and_nothing_else() -> None:
    packages = [module for module in modules().values() if module.is_package]
    assert len(packages) > 40
    assert [package.shown for package in packages if package.name != OURS and not _is_one_docstring(package)] == []


def _is_below(name: str, above: str) -> bool:
    return name == above or name.startswith(f"{above}.")


def _room(name: str) -> str:
    """The folder at the root in which a module of ours lies; empty for what is not ours."""
    first, _, rest = name.partition(".")
    if first != OURS:
        return ""
    return below if (below := rest.partition(".")[0]) in LINKED else OURS


def _is_one_docstring(module: Module) -> bool:
    body = module.tree.body
    return len(body) == 1 and isinstance(body[0], ast.Expr) and bool(ast.get_docstring(module.tree))
