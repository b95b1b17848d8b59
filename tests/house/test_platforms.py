"""The client's side runs on macOS, too: nothing there uses what only Linux has. Runners and the worker are Linux's."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution
from itertools import chain

import pytest

from tests.house.platforms import linux_only, names
from tests.house.source import ROOT, Import, Module, modules

MACHINES = {"bastion.runners.programs.worker"}
"""Of the clients' rooms, what runs on machines only: the worker's wiring."""

LINUX_MODULES = {"nis", "ossaudiodev", "spwd"}
LINUX_PATHS = re.compile(r"/(?:proc|sys|dev/shm)(?:/|$)")
FALLS_BACK = {"bastion.platform.host": "/proc/sys/kernel/random/boot_id", "bastion.stores.file_tree": "/proc/self/fd"}
"""Who may name a path of Linux's, and which: where there is none, it does without."""

OF_PSUTIL = frozenset(
    "cpu_affinity io_counters ionice memory_maps rlimit sensors_fans sensors_temperatures PROCFS_PATH".split()
)


def clients() -> list[Module]:
    """All that may run on somebody's laptop."""
    found = [module for module in modules().values() if module.room != "runners" and module.name not in MACHINES]
    assert len(found) > 80
    return found


def test_typeshed_tells_what_macos_lacks() -> None:
    assert {"memfd_create", "sched_getaffinity", "O_TMPFILE", "pipe2"} <= linux_only("os")
    assert {"SIGRTMIN", "pidfd_send_signal"} <= linux_only("signal")
    assert not {"fork", "O_DIRECTORY", "posix_spawn", "link", "pread"} & linux_only("os")
    assert not {"LOCK_EX", "flock"} & linux_only("fcntl")
    assert linux_only("bastion.model.layout") == frozenset()


def test_no_client_imports_what_only_linux_has() -> None:
    assert [f"{module.shown}:{line} imports {what}" for module in clients() for line, what in _imports(module)] == []


def test_no_client_uses_a_name_that_only_linux_has() -> None:
    assert [f"{module.shown}:{line} uses {what}" for module in clients() for line, what in _uses(module)] == []


def test_no_client_names_a_path_that_only_linux_has() -> None:
    found = [
        f"{module.shown}:{node.lineno} names {node.value}"
        for module in clients()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and LINUX_PATHS.match(node.value)
        if FALLS_BACK.get(module.name) != node.value
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.memfd_create('x')",
        "import os as system\nsystem.O_TMPFILE",
        "from os import pipe2",
        "from signal import SIGRTMIN as first",
        "import os\ngetattr(os, 'sched_getaffinity')",
        "import ctypes",
        "import pynvml",
        "def f():\n    import spwd",
        "import psutil\npsutil.Process().cpu_affinity()",
        "import select\nselect.epoll()",
        "import time\ntime.clock_gettime(time.CLOCK_BOOTTIME)",
    ],
)
def test_the_rule_sees_what_it_is_for(text: str) -> None:
    assert [*_imports(_module(text)), *_uses(_module(text))]


@pytest.mark.parametrize(
    "text",
    [
        "import fcntl, os, psutil\nos.fork, fcntl.flock, psutil.Process().children()",
        "import time\ngetattr(time, 'CLOCK_BOOTTIME', time.CLOCK_MONOTONIC)",
        "import os.path\nos.path.join",
    ],
)
def test_the_rule_lets_pass_what_macos_has(text: str) -> None:
    assert [*_imports(_module(text)), *_uses(_module(text))] == []


def _imports(module: Module) -> Iterator[tuple[int, str]]:
    """Modules of the library that macOS lacks, packages that are installed on Linux only, and doors into libc."""
    for imported in module.imports:
        top = imported.module.split(".")[0]
        if top in LINUX_MODULES | _linux_packages() | {"ctypes"} or (top in sys.stdlib_module_names and _is_empty(top)):
            yield imported.line, imported.module


def _is_empty(name: str) -> bool:
    return bool(names(name, "linux")) and not names(name, "darwin")


@cache
def _linux_packages() -> set[str]:
    """The modules of the requirements that `pyproject.toml` marks as Linux's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    marked = {
        re.split(r"[<>=;\[ ]", wanted)[0]
        for wanted in (*project["dependencies"], *chain(*project["optional-dependencies"].values()))
        if "sys_platform == 'linux'" in wanted
    }
    assert "nvidia-ml-py" in marked
    return {path.parts[0].removesuffix(".py") for name in marked for path in distribution(name).files or ()}


def _uses(module: Module) -> Iterator[tuple[int, str]]:
    known = _aliases(module.tree)
    for node in ast.walk(module.tree):
        match node:
            case ast.ImportFrom(module=str(source)):
                yield from ((node.lineno, f"{source}.{a.name}") for a in node.names if a.name in linux_only(source))
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if attr in linux_only(known.get(name, "")):
                yield node.lineno, f"{known[name]}.{attr}"
            case ast.Attribute(attr=attr) if attr in OF_PSUTIL and "psutil" in known.values():
                yield node.lineno, f"psutil's {attr}"
            case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id=name), ast.Constant(value=str(attr))]):
                if attr in linux_only(known.get(name, "")):
                    yield node.lineno, f"{known[name]}.{attr}"


def _aliases(tree: ast.Module) -> dict[str, str]:
    """The modules that a file knows, by the names under which it does."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    return {alias.asname or alias.name: alias.name for node in imports for alias in node.names}


def _module(text: str) -> Module:
    tree = ast.parse(text)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    imports = tuple(Import(alias.name, node.lineno, False) for node in found for alias in node.names)
    return Module("some.module", ROOT / "some.py", text, tree, imports)
