"""The table of planted bugs in `docs/explanation/proof.md`: which bug, what caught it, how many seeds it took."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tests.house.source import ROOT
from tests.mutants.judging import Catch, Verdict

PAGE = ROOT / "docs" / "explanation" / "proof.md"
HEAD = ("| planted bug | what it does | caught by | seeds |", "|---|---|---|---|")
_TABLE = re.compile(rf"^{re.escape(HEAD[0])}\n(?:\|.*\n)+", re.MULTILINE)
_WORD = re.compile(r"\S*\d\S*")
TOLD_MAX = 100


def rendered(verdicts: Iterable[Verdict]) -> str:
    """The table in Markdown."""
    return "\n".join([*HEAD, *map(_row, verdicts)]) + "\n"


def _row(verdict: Verdict) -> str:
    seeds = str(verdict.seeds) if verdict.by is Catch.LAW else ""
    return f"| {verdict.patch.name} | {_cell(verdict.patch.planted)} | {_cell(caught_by(verdict))} | {seeds} |"


def caught_by(verdict: Verdict) -> str:
    """In words, without the names and numbers of one world."""
    if verdict.by is Catch.LAW:
        return _WORD.sub("…", verdict.told)[:TOLD_MAX]
    return f"{verdict.by}: {verdict.told}" if verdict.told else str(verdict.by)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())


def write(table: str) -> None:
    """Put the table into its page, in the place of the one that is there."""
    page = PAGE.read_text()
    if not _TABLE.search(page):
        raise ValueError(f"{PAGE.name} holds no table that begins with {HEAD[0]!r}")
    PAGE.write_text(_TABLE.sub(lambda _: table, page, count=1))


def rows() -> dict[str, tuple[str, ...]]:
    """The table as it stands on the page: the cells of each planted bug."""
    found = _TABLE.search(PAGE.read_text())
    lines = found[0].splitlines()[2:] if found else []
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    return {name: tuple(rest) for name, *rest in cells}
