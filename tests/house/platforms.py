"""What the standard library lacks on macOS: read from typeshed, which mypy brings along, and from nobody's memory."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import mypy

STUBS = Path(mypy.__file__).parent / "typeshed" / "stdlib"


@cache
def linux_only(module: str) -> frozenset[str]:
    """The names of a module of the standard library that Linux has and macOS has not. Empty for what is no such module."""
    return names(module, "linux") - names(module, "darwin")


@cache
def names(module: str, platform: str) -> frozenset[str]:
    """All that a module of the standard library defines or imports on a platform, in the Python that runs this."""
    path = STUBS.joinpath(*module.split("."))
    for stub in (path.with_suffix(".pyi"), path / "__init__.pyi"):
        if stub.is_file():
            return frozenset(_defined(ast.parse(stub.read_text()).body, platform))
    return frozenset()


def _defined(body: list[ast.stmt], platform: str) -> Iterator[str]:
    for node in body:
        match node:
            case ast.If():
                yield from _defined(node.body if _holds(node.test, platform) else node.orelse, platform)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign():
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))
            case ast.ImportFrom(module=str(source), names=[ast.alias(name="*")]):
                yield from names(source, platform)
            case ast.Import() | ast.ImportFrom():
                yield from (alias.asname or alias.name for alias in node.names)


def _holds(test: ast.expr, platform: str) -> bool:
    """The value of a stub's condition: of the platform, of the version, or of several."""
    match test:
        case ast.BoolOp(op=ast.And()):
            return all(_holds(part, platform) for part in test.values)
        case ast.BoolOp(op=ast.Or()):
            return any(_holds(part, platform) for part in test.values)
        case ast.UnaryOp(op=ast.Not()):
            return not _holds(test.operand, platform)
    known = {"sys": type("sys", (), {"platform": platform, "version_info": sys.version_info}), "TYPE_CHECKING": True}
    return bool(eval(compile(ast.Expression(test), "stub", "eval"), known))
