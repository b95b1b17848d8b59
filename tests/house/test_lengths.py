"""Short functions, and files about one thing: a file that grows past the alarm needs a reason, not a splinter."""

from __future__ import annotations

import ast
from statistics import median

from tests.house.source import ROOT, modules, tracked

FUNCTION_MAX = 40
MEDIAN_BELOW = 10
FILE_MAX = 500
TEST_FILE_MAX = 600
LONGER: dict[str, int] = {}


def test_functions_are_short() -> None:
    functions = {
        f"{module.shown}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for module in modules().values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in functions.items() if lines > FUNCTION_MAX} == {}
    assert median(functions.values()) < MEDIAN_BELOW


def test_files_are_short() -> None:
    too_long = {name: n for name, n in lengths().items() if n > LONGER.get(name, limit(name))}
    assert too_long == {}


def test_no_exception_is_kept_that_is_not_needed() -> None:
    assert {name: n for name, n in lengths().items() if name in LONGER and n <= limit(name)} == {}
    assert set(LONGER) <= set(lengths())


def lengths() -> dict[str, int]:
    """Lines of every Python file."""
    return {str(path.relative_to(ROOT)): path.read_text().count("\n") for path in tracked() if path.suffix == ".py"}


def limit(name: str) -> int:
    """The most lines of a file."""
    return TEST_FILE_MAX if name.startswith("tests/") else FILE_MAX
