"""The account of a job as lines for people: a word, and a text. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from bastion.model.durations import short
from bastion.model.wording import clock, listed
from bastion.quota import resources

from . import timing
from .explanation import Explanation, JobEnd, RunningAttempt, WorkerReports
from .preemption_risk import PreemptionRisk
from .preemptions import PreemptedAttempt
from .waiting_text import SHOWN, Line, ago, more, waits


def told(account: Explanation, name: str, project: str, now: datetime) -> Iterator[Line]:
    """Yield the lines of the whole account."""
    if account.timing:
        yield from timing.told(account.timing, now)
    if account.waiting:
        yield from waits(account.waiting, project, now)
    for row in account.running[:SHOWN]:
        yield from _running(row, now)
    yield from more("running", len(account.running))
    if account.exposure:
        yield from _exposure(account.exposure, project, now)
    for stop in account.stops[-SHOWN:]:
        yield from _stopped(stop, now)
    if account.running:
        yield "log", f"launch logs {name}"
    if account.end:
        yield from _end(account.end)


def _running(row: RunningAttempt, now: datetime) -> Iterator[Line]:
    hosts = ", ".join(row.machines[:SHOWN]) + (f" and {len(row.machines) - SHOWN} more" if row.machines[SHOWN:] else "")
    where = f" on {hosts}" if hosts else ", no worker seen yet"
    yield (
        "attempt",
        f"task {row.task} attempt {row.attempt}, {row.state}: {row.runner}{where} for {ago(row.since, now)}",
    )
    if row.waits_for:
        yield "waits", row.waits_for
    if row.stopping:
        yield "stops", row.stopping
    if row.finish_by:
        yield (
            "ends",
            f"{clock(row.finish_by, now)}: a rank has ended with 0, and others still run (--finish_timeout)",
        )
    if row.until:
        yield "until", f"{clock(row.until, now)}, at the latest"
    if row.pulse and (said := [part for part in _said(row.pulse, now) if part]):
        yield "progress", ", ".join(said)


def _exposure(exposure: PreemptionRisk, project: str, now: datetime) -> Iterator[Line]:
    for kind, n in exposure.borrowed.items():
        yield "borrows", f"{project} holds {n} {kind} beyond its share"
    if threat := exposure.threat:
        whose = f"for {threat.by}" if threat.by else "to fit the smaller fleet"
        when = (
            f"at {clock(threat.at, now)}, if nothing happens until then" if threat.at > now else "by the next decision"
        )
        yield "at risk", f"it is stopped {whose} {when}"
    for claim in exposure.claims:
        wants = f"a job of {claim.project} that asks for {resources.text(claim.resources)}"
        yield "at risk", f"{wants} could stop it, after {short(claim.after_s)} of waiting"


def _stopped(stop: PreemptedAttempt, now: datetime) -> Iterator[Line]:
    if stop.ended:  # else the attempt says it
        yield "stopped", f"task {stop.task} attempt {stop.attempt} at {clock(stop.at, now)}: {stop.why}"
    if stop.lost is not None and stop.lost_s is not None:
        lost = listed([f"{n:.3g} {kind}-hours" for kind, n in stop.lost.items()]) if stop.lost else "nothing"
        again = f"; stopped {stop.before} times before" if stop.before else ""
        yield "cost", f"{short(stop.lost_s)} of work that no checkpoint held: {lost}{again}"


def _said(pulse: WorkerReports, now: datetime) -> Iterator[str]:
    yield f"step {pulse.step}" if pulse.step is not None else ""
    yield f"checkpoint {ago(pulse.checkpoint_at, now)} ago" if pulse.checkpoint_at else ""
    yield f"last beat {ago(pulse.beat, now)} ago" if pulse.beat else ""
    yield pulse.phase


def _end(end: JobEnd) -> Iterator[Line]:
    code = f", exit code {end.exit_code}" if end.exit_code is not None else ""
    if end.cause:
        yield "cause", f"{end.cause}{code}; {end.tries} of {end.max_tries} tries used up"
    if end.message:
        yield "message", end.message
    if end.advice:
        yield "to do", end.advice
