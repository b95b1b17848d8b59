"""Nothing that a stranger wrote is ever run by us: no pickle, no code from data, no shell on data."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.house.source import modules

UNPICKLERS = frozenset("pickle _pickle marshal shelve dbm dill cloudpickle joblib yaml code codeop".split())
"""Modules whose reading of data can run it."""

CALLS = frozenset("eval exec compile breakpoint __import__".split())
SHELLS = frozenset("system popen getoutput getstatusoutput create_subprocess_shell".split())
STARTERS = frozenset("run Popen call check_call check_output".split())
BELIEVERS = frozenset("extractall unpack_archive".split())
"""What lays out an archive by itself, and believes its names."""

USERS_OWN = {"bastion.runners.worker.run", "bastion.runners.worker.preparation"}
"""The text of the user's own command and setup goes to a shell on the job's machine: what Bastion is for."""


def offences(tree: ast.AST, *, users_own: bool = False) -> Iterator[str]:
    """Each place that could run what a stranger wrote, with its line."""
    for node in ast.walk(tree):
        for name in _imported(node):
            if name.split(".")[0] in UNPICKLERS:
                yield f"{getattr(node, 'lineno', 0)} imports {name}"
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called.rpartition(".")[2] in CALLS | SHELLS | BELIEVERS and called != "re.compile":
                yield f"{node.lineno} calls {called}()"
            if called.rpartition(".")[2] in STARTERS and any(word.arg == "shell" for word in node.keywords):
                yield f"{node.lineno} has a shell between"
        if isinstance(node, ast.List | ast.Tuple) and not users_own and _is_a_shell_on_data(node.elts):
            yield f"{node.lineno} gives a shell a text that is not written there"


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def _is_a_shell_on_data(words: list[ast.expr]) -> bool:
    """`sh -c` with a text that has anything but numbers put into it."""
    texts = [word.value if isinstance(word, ast.Constant) else None for word in words]
    shells = (at for at, text in enumerate(texts[:-2]) if str(text).rpartition("/")[2] in {"sh", "bash", "dash", "zsh"})
    return any(texts[at + 1] == "-c" and not _is_written(words[at + 2]) for at in shells)


def _is_written(word: ast.expr) -> bool:
    parts = word.values if isinstance(word, ast.JoinedStr) else [word]
    inner = [part.value if isinstance(part, ast.FormattedValue) else part for part in parts]
    return all(isinstance(part, ast.Constant | ast.BinOp) for part in inner)


def test_nothing_of_ours_runs_data() -> None:
    assert [
        f"{module.shown}:{offence}"
        for module in modules().values()
        for offence in offences(module.tree, users_own=module.name in USERS_OWN)
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from marshal import loads",
        "import yaml",
        "eval(x)",
        "builtins.exec(x)",
        "__import__(x)",
        "os.system(x)",
        "os.popen(x)",
        "subprocess.run(x, shell=True)",
        "subprocess.getoutput(x)",
        "archive.extractall(x)",
        "shutil.unpack_archive(x)",
        "run(['/bin/sh', '-c', x])",
        "('env', 'bash', '-c', f'ls {x}')",
    ],
)
def test_the_rule_sees(text: str) -> None:
    assert len(list(offences(ast.parse(text)))) == 1


@pytest.mark.parametrize("text", ["re.compile(x)", "['sh', '-c', 'exit 1', x]", "['sh', '-c', f'ulimit -f {a // 2}']"])
def test_the_rule_lets_pass(text: str) -> None:
    assert list(offences(ast.parse(text))) == []
