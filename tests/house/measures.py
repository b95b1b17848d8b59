"""`python -m tests.house.measures`: the measurements of the house, as the table in docs/explanation/house.md has them."""

from __future__ import annotations

import ast
import io
import os
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from tests.house.source import OURS, Module, importers, in_circles, modules
from tests.house.test_rooms import SPLINTER_BELOW, arrows, floors, folders
from tests.support.bench import Bench
from tests.support.world import World

WHO = re.compile(r"(?:Who|Whose|Whom|What|Which|Whether|Of|For whom|How|Where|Why|When|As|Those|That)\b")
"""How a docstring opens that names no thing and no act."""

LISTS = """
import sys
from bastion.__main__ import launch
sys.argv[1:] = {argv!r}
code = launch()
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""


def main() -> int:
    """Print each row: what is measured, and the figure."""
    for what, figure in rows():
        print(f"| {what} | {figure} |")
    return 0


def rows() -> Iterator[tuple[str, str]]:
    """All rows, in the order of the page."""
    ours = [module for module in modules().values() if not module.is_package]
    lengths = sorted(_lengths(ours))
    yield (
        "function median / p90 / max lines",
        f"{median(lengths):.0f} / {quantiles(lengths, n=10)[8]:.0f} / {lengths[-1]}",
    )
    yield "import circles between files or folders", str(sum(bool(in_circles(arrows(folder))) for folder in folders()))
    wide = Counter(str(Path(module.shown).parent) for module in modules().values())
    yield "widest folder, files side by side", " ".join(map(str, wide.most_common(1)[0]))
    core = {name: others for name, others in arrows(OURS).items() if not name.endswith(".py")}
    yield "floors of the core, and arrows", f"{max(floors(core).values())}, {sum(map(len, core.values()))}"
    single = [module for module in ours if len(importers().get(module.name, ())) == 1]
    short = [module for module in ours if module.text.count("\n") < SPLINTER_BELOW]
    both = [module for module in single if module in short]
    yield (
        "files with one importer / of less than 40 lines / both, of all",
        f"{len(single)} / {len(short)} / {len(both)}, of {len(ours)}",
    )
    lines = sum(module.text.count("\n") for module in ours)
    yield "import statements per 100 lines", f"{100 * sum(_imports(module) for module in ours) / lines:.1f}"
    yield "lines with a comment", f"{100 * sum(_comments(module) for module in ours) / lines:.1f} %"
    texts = list(_docstrings(modules().values()))
    yield (
        "docstrings that open with a bare who, what or of",
        f"{100 * sum(bool(WHO.match(text)) for text in texts) / len(texts):.1f} %",
    )
    with TemporaryDirectory() as folder:
        yield "modules of ours that `launch ls` loads", str(len(listing_loads(queue(Path(folder), Job.RUNS))))


class Job(Enum):
    """The state of the one job of a queue; NONE: there is no job."""

    NONE = "none"
    RUNS = "runs"
    WAITS = "waits"


def queue(folder: Path, job: Job) -> Bench:
    """A bastion's bucket below this folder."""
    bench = Bench(folder / "bucket")
    world = World(bench.bucket)
    if job is not Job.NONE:
        submitted = world.submitted(user="alice")
        if job is Job.RUNS:
            world.runs(submitted)
    world.ticks()
    return bench


def listing_loads(bench: Bench) -> set[str]:
    """Our modules, packages apart, that `launch ls --all` loads."""
    code, environ = LISTS.format(argv=["ls", "--all", "--json"]), {**os.environ, **bench.environ}
    said = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    return {name for name in said.stderr.split() if name in modules() and not modules()[name].is_package}


def _lengths(ours: Iterable[Module]) -> Iterator[int]:
    for module in ours:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef):
                yield (node.end_lineno or node.lineno) - node.lineno + 1


def _imports(module: Module) -> int:
    return sum(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(module.tree))


def _comments(module: Module) -> int:
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    return len({token.start[0] for token in tokens if token.type == tokenize.COMMENT})


def _docstrings(ours: Iterable[Module]) -> Iterator[str]:
    for module in ours:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                yield text


if __name__ == "__main__":
    sys.exit(main())
