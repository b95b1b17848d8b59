"""Rooms and walls: who may import whom, no cycles, nothing heavy before it is used."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping

import pytest

from tests.house.source import ENTRY, ROOMS, Module, closure, modules

DOORS = {"bastion.errors", "bastion.google.door", "bastion.layout", "bastion.ports"}
READERS = {"bastion.logs", "bastion.once", "bastion.past", "bastion.reading", "bastion.recover", "bastion.traces"}
"""Not pure, for they read and write; but only through the bucket's door."""

WALLS: Mapping[str, set[str]] = {
    "quota": {"quota"},
    "bastion": {"bastion", "quota"},
    "bastion_testing": {"bastion_testing", "bastion", "quota"},
    "bundler": {"bundler", *DOORS, "bastion.google.builds", "bastion.image", "bastion.nearest", "bastion.repo"},
    "launcher": {"launcher", "bundler", "quota", *DOORS, *READERS, "bastion (pure)"},
    "runners": {
        "runners",
        "bundler.checkout",
        "bundler.gitcall",
        "bundler.unpack",
        "quota.resources",
        *DOORS,
        "bastion.clocks",
        "bastion.codec",
        "bastion.google.failures",
        "bastion.google.login",
        "bastion.google.settings",
        "bastion.gpus",
        "bastion.ground",
        "bastion.host",
        "bastion.instances",
        "bastion.logs",
        "bastion.once",
        "bastion.records",
        "bastion.secret",
        "bastion.spec",
        "bastion.state",
        "bastion.store_clock",
        "bastion.untrusted",
        "bastion.version",
        "bastion.wording",
    },
    "simulator": {"simulator", "quota", *DOORS, "bastion (pure)"},
    "worlds": {"worlds", "bastion", "launcher", "quota", "runners"},
    "cli": set(ROOMS) - {"bastion_testing", "worlds"},
    ENTRY: {"cli", "worlds.main"},
}
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

SCREENS = {"cli.top_app"}
"""Ours, and as heavy as what they derive from, which they import at their top: imported inside functions themselves."""

CLOUDS = {"cli.hosted": {"cli.google_host", "cli.kubernetes_host"}}
"""Who imports which of ours inside functions: a whole cloud each, which most bastions do not live in."""

LIGHT = {"absl", "greenlet", "msgspec", "psutil"}
SERVER = {"bastion.loop", "bastion.tick", "bastion.reconcile", "bastion.journal"}


@pytest.mark.parametrize("room", WALLS)
def test_a_room_imports_only_what_its_walls_let_in(room: str) -> None:
    assert [
        f"{module.shown}:{imported.line} imports {imported.module}"
        for module in modules().values()
        if module.room == room
        for imported in module.imports
        if _is_ours(imported.module) and not _is_let_in(imported.module, WALLS[room])
    ] == []


def test_no_module_imports_itself_on_some_way() -> None:
    ways = {module.name: {i.module for i in module.imports if i.module in modules()} for module in modules().values()}
    assert [cycle for name in ways if (cycle := _way_back(name, ways))] == []


def test_only_the_heavy_are_imported_inside_functions_and_always_there() -> None:
    wrong = []
    for module in modules().values():
        for imported in module.imports:
            ours = imported.module in SCREENS | CLOUDS.get(module.name, set())
            heavy = imported.module.split(".")[0] in HEAVY | HEAVY_OF_PYTHON or ours
            if imported.inner != (heavy and module.name not in SCREENS) and module.name != ENTRY:
                wrong.append(f"{module.shown}:{imported.line} imports {imported.module}")
    assert wrong == []


def test_what_is_not_ours_is_known_to_be_light_or_heavy() -> None:
    strangers = {imported.module.split(".")[0] for module in modules().values() for imported in module.imports}
    assert strangers - set(sys.stdlib_module_names) - {*ROOMS, ENTRY} == HEAVY | LIGHT


def test_a_module_is_imported_by_its_text_in_one_place_only() -> None:
    users = [
        module.name for module in modules().values() if "import_module(" in module.text or "__import__" in module.text
    ]
    assert users == ["cli.main"]


def test_only_the_command_line_and_the_simulation_run_the_loop() -> None:
    users = {m.room for m in modules().values() for i in m.imports if i.module == "bastion.loop"}
    assert users == {"cli", "worlds"}


def test_no_client_loads_a_runner_or_the_loop() -> None:
    clients = closure(name for name in modules() if name.startswith(("cli.launch", "launcher.")))
    assert "launcher.submit" in clients
    assert {name for name in clients if name.startswith("runners") or name in SERVER} == set()


def test_the_worker_loads_neither_the_scheduler_nor_a_client() -> None:
    worker = closure(["cli.worker"])
    assert "runners.worker.run" in worker
    assert {name for name in worker if name.startswith("launcher") or name in SERVER | {"quota.scheduler"}} == set()


def test_packages_hold_a_docstring_and_nothing_else() -> None:
    packages = [module for module in modules().values() if module.is_package]
    assert len(packages) >= len(ROOMS)
    assert [package.shown for package in packages if not _is_one_docstring(package)] == []


def _is_ours(name: str) -> bool:
    return name.startswith(".") or name.split(".")[0] in (*ROOMS, ENTRY)


def _is_let_in(name: str, allowed: set[str]) -> bool:
    if (
        "bastion (pure)" in allowed
        and name in modules()
        and modules()[name].room == "bastion"
        and modules()[name].is_pure
    ):
        return True
    return name in allowed or name.split(".")[0] in allowed


def _way_back(start: str, ways: Mapping[str, set[str]]) -> list[str]:
    """A way from a module to itself; empty if there is none."""
    came_from: dict[str, str] = {}
    waiting = [start]
    while waiting:
        here = waiting.pop()
        for there in sorted(ways[here]):
            if there == start:
                way = [start, here]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if there not in came_from:
                came_from[there] = here
                waiting.append(there)
    return []


def _is_one_docstring(module: Module) -> bool:
    body = module.tree.body
    return len(body) == 1 and isinstance(body[0], ast.Expr) and bool(ast.get_docstring(module.tree))
