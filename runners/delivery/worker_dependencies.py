"""The modules that a program needs to run, from the imports in its text, also those inside functions. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r"\bextra\s*==")
_ENDS = re.compile(r"(/__init__)?(\.py|\.cpython-[^/]*\.so|\.abi3\.so|\.so)$")


def imports(text: str, package: str = "") -> Iterator[str]:
    """Yield the names of modules that a text in this package may import. `from a import b` may mean `a.b`."""
    for statement in ast.walk(ast.parse(text)):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            near = package.split(".")[: 1 - statement.level or None] if statement.level else []
            wanted = ".".join([*near, *([statement.module] if statement.module else [])])
            yield wanted
            yield from (f"{wanted}.{alias.name}" for alias in statement.names)


def closure(
    start: Iterable[str], text_of: Callable[[str], str | None], without: Collection[str] = ()
) -> tuple[dict[str, str], set[str]]:
    """Return the modules needed from `start` on, by name, and the foreign names among the imports.

    `text_of` returns the text of a module of ours, or None for a foreign one. The packages above a module are needed
    too. A foreign name that only the modules `without` import is left out.
    """
    known, strange = dict[str, str](), set[str]()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name in known or name in strange:
            continue
        text = text_of(name)
        if text is None:
            strange.add(name)
            continue
        known[name] = text
        package = name if text_of(f"{name}.__init__") is not None else name.rpartition(".")[0]
        waiting += [wanted for wanted in imports(text, package) if name not in without or text_of(wanted) is not None]
        waiting += [name.rpartition(".")[0]] if "." in name else []
    return known, strange


def canonical(name: str) -> str:
    """Return a distribution's name in one spelling."""
    return re.sub(r"[-_.]+", "-", name).lower()


def providers(names: Iterable[str], files: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the distributions that hold a module of one of these names.

    `files` lists the files of each distribution.
    """
    homes = {_ENDS.sub("", path): name for name, paths in files.items() for path in paths if _ENDS.search(path)}
    paths = (name.replace(".", "/") for name in names)
    return {homes[path] for path in paths if path in homes}


def with_required(names: Iterable[str], requirements: Mapping[str, Sequence[str]]) -> set[str]:
    """Return these distributions and all that they require, as far as they exist.

    `requirements` holds the metadata lines of each distribution that exists. A requirement for another system only does
    not exist here; a requirement for an extra does not count.
    """
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in requirements and name not in found:
            found.add(name)
            waiting += _required(requirements[name])
    return found


def _required(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        wanted, _, marker = line.partition(";")
        if (name := _NAME.match(wanted.strip())) and not _EXTRA.search(marker):
            yield canonical(name[0])
