"""The files of this installation that a worker needs on an empty machine: names in the archive and paths here."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator
from importlib import metadata
from pathlib import Path

from bastion.model import layout
from bastion.model.errors import RunnerError
from bastion.model.interfaces import Shell

from .bootstrap import PYTHON
from .worker_dependencies import canonical, closure, providers, with_required

LOADER = "lib/ld-linux-x86-64.so.2"
_HOME = f"lib/python{sys.version_info.major}.{sys.version_info.minor}"

_ENTRY = "bastion.__main__"
_START = ("bastion.runners.programs.worker",)
OTHER_STORES = frozenset({"bastion.stores.fsspec", "bastion.stores.s3"})
"""The modules whose needs stay at home: a machine of Google's fetches its build from Google's store."""

_OURS = "bastion"
_FOLDERS_LEFT_OUT = frozenset(
    "__pycache__ dist-packages ensurepip idlelib lib2to3 pydoc_data site-packages sqlite3 test tests tkinter".split()
)
_MODULES_LEFT_OUT = (
    *("_curses", "_dbm", "_gdbm", "_sqlite3", "_test", "_tkinter", "_xx"),
    *("nis.", "ossaudiodev", "readline", "xx"),
)
_OF_ONE_HOST = frozenset({"sitecustomize.py", "usercustomize.py"})
_NOT_RUN = (".a", ".c", ".h", ".pxd", ".pyc", ".pyi", ".pyx")
_OF_METADATA = frozenset({"METADATA", "entry_points.txt"})
_LOADED_BY_NAME = tuple(
    "libdl.so.2 libgcc_s.so.1 libm.so.6 libnss_dns.so.2 libnss_files.so.2 libpthread.so.0 libresolv.so.2 librt.so.1"
    " libutil.so.1".split()
)
"""Parts of the C library that a program loads while it runs: those of another C library would not fit."""

_ABI_LOADER = Path("/lib64/ld-linux-x86-64.so.2")
_FOUND = re.compile(r"\s*(\S+) => (/\S+) \(0x[0-9a-f]+\)")
_LACKS = "error while loading shared libraries"
_LIST_S = 60.0
_ELF = b"\x7fELF"


def files(shell: Shell, without: Collection[str] = OTHER_STORES) -> dict[str, Path]:
    """Return all files of an archive but its start script. What only the modules `without` need is left out.

    Raises `RunnerError` if something cannot be found.
    """
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    found = {f"{PYTHON}.bin": python, **dict(_standard(Path(sysconfig.get_path("stdlib"))))}
    found |= _modules(without)
    return found | _c_libraries(found.values(), shell)


def _standard(home: Path) -> Iterator[tuple[str, Path]]:
    """Yield the standard library without tests, windows, and parts that belong to this host."""
    for folder, folders, names in os.walk(home):
        folders[:] = [name for name in folders if name not in _FOLDERS_LEFT_OUT and not name.startswith("config-")]
        for name in names:
            is_left_out = name in _OF_ONE_HOST or (name.endswith(".so") and name.startswith(_MODULES_LEFT_OUT))
            if not is_left_out and not name.endswith(_NOT_RUN):
                path = Path(folder, name)
                yield f"{_HOME}/{path.relative_to(home)}", path


def _modules(without: Collection[str]) -> dict[str, Path]:
    """Return the modules of ours that a worker may import, and the distributions that any of them imports."""
    root = Path(layout.__file__).parents[2]
    ours, strange = closure(_START, lambda name: _text(root, name), without)
    found = {f"{_HOME}/{path.relative_to(root)}": path for path in (_path(root, name) for name in (_ENTRY, *ours))}
    return found | dict(_distributed(strange))


def _text(root: Path, name: str) -> str | None:
    """Return the text of a module of ours; None for any other."""
    path = _path(root, name)
    return path.read_text() if name.split(".")[0] == _OURS and path.is_file() else None


def _path(root: Path, name: str) -> Path:
    package = root.joinpath(*name.split("."))
    return package / "__init__.py" if package.is_dir() else package.with_name(package.name + ".py")


def _distributed(names: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Yield the files of the distributions that provide these modules, and of their requirements.

    Raises `RunnerError`.
    """
    there: dict[str, metadata.Distribution] = {}
    for found in metadata.distributions():
        there.setdefault(canonical(found.name), found)  # the first on the path is the one that is imported
    listed = {name: [str(path) for path in found.files or ()] for name, found in there.items()}
    asked = {name: found.requires or [] for name, found in there.items()}
    for name in sorted(with_required(providers(names, listed), asked)):
        if not listed[name]:
            raise RunnerError(f"the package {name} does not list its files; install it with pip, beside bastion")
        for path in listed[name]:
            if _is_needed(Path(path)):
                yield f"{_HOME}/{path}", Path(str(there[name].locate_file(path)))


def _is_needed(path: Path) -> bool:
    if path.parts[0].endswith(".dist-info"):
        return path.name in _OF_METADATA or "license" in path.name.lower() or "licenses" in path.parts
    return not {"..", *_FOLDERS_LEFT_OUT} & set(path.parts) and path.suffix not in _NOT_RUN


def _c_libraries(paths: Iterable[Path], shell: Shell) -> dict[str, Path]:
    """Return what the loader finds for programs and compiled modules, and is not among them."""
    known = {path.resolve() for path in paths}
    found: dict[str, Path] = {LOADER: _ABI_LOADER}
    for path in sorted(known):
        if _is_elf(path):
            found |= {f"lib/{name}": library for name, library in _needed(path, shell) if library not in known}
    c_library = found.get("lib/libc.so.6", Path("/none/libc.so.6"))
    beside = {f"lib/{name}": c_library.with_name(name) for name in _LOADED_BY_NAME}
    return {name: path for name, path in beside.items() if path.is_file()} | found


def _needed(path: Path, shell: Shell) -> Iterator[tuple[str, Path]]:
    """Yield the libraries that a file needs, by the names that it has for them; the loader itself is asked.

    A module that lacks a library is of no use here, and so not there either: its importers can do without it.
    """
    said = shell.run([str(_ABI_LOADER), "--list", str(path)], limit_s=_LIST_S)
    if _LACKS in said.err or "not found" in said.out:
        return
    if said.code:
        words = " ".join((said.out + said.err).split())[-300:]
        raise RunnerError(f"the libraries of '{path}' cannot be found: {words}; reinstall the package of that file")
    for line in said.out.splitlines():
        if match := _FOUND.fullmatch(line):
            yield Path(match[1]).name, Path(match[2]).resolve()


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_ELF)) == _ELF
