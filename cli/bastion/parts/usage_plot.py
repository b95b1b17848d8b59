"""A ledger as one page of HTML: stacked use over time, and each project's use against its share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bastion.schedule.ledger import Ledger
from bastion.schedule.ledger_rows import Line

from ...terminal import charts


def page(ledger: Ledger, lines: Sequence[Line], *, by: str, title: str, numbers: str) -> str:
    """The page. `lines` are the entries, the largest first; `numbers` is the table in text."""
    kinds = sorted({kind for line in lines for kind in line.unit_hours})
    return charts.page(title, [part for kind in kinds for part in _of_kind(ledger, lines, kind, by)], numbers)


def _of_kind(ledger: Ledger, lines: Sequence[Line], kind: str, by: str) -> Iterator[str]:
    yield charts.heading(kind)
    using = [line.who for line in lines if kind in line.unit_hours]
    held = {who: entry.held.get(kind) for who, entry in ledger.entries.items()}
    meters = [(who, held[who]) for who in using]
    yield charts.stacked(ledger.window, meters, ledger.pool.get(kind), title=f"{kind} in use, by {by}")
    shares = [line.who for line in lines if kind in line.share_hours][: charts.SHOWN]
    if shares:
        yield charts.few(
            charts.against_share(
                ledger.window, [("used", held.get(who))], ledger.promised.get((who, kind)), title=f"{who}: {kind}"
            )
            for who in shares
        )
