"""What must hold when the chaos is over, held beside what the jobs themselves noted."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import psutil

from bastion.journal import logs
from bastion.journal.recover import load, objects
from bastion.model import layout
from bastion.model.errors import BastionError
from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Cause, JobState, State
from bastion.model.stored.events import Claimed, Ended, Epoch, Started
from bastion.model.stored.journal_object import JournalObject
from bastion.runners.local import render
from tests.chaos.acts import Harmed, is_alive
from tests.chaos.town import PATIENCE_S, Failed, Town

_NOTE = re.compile(r"\[bastion\] .*")


def all_ended(town: Town) -> bool:
    """Every job that is known has ended, and the inbox holds no other."""
    try:
        waiting = next(iter(town.bucket.list(layout.INBOX)), None)
        state = load(town.bucket)
    except BastionError:
        return False
    known = set(town.known) <= set(state.jobs)
    return waiting is None and known and all(job.ended is not None for job in state.jobs.values())


def wrong(town: Town, harmed: Harmed) -> list[str]:
    """Every broken promise, in a line."""
    journal, state = list(objects(town.bucket, 0)), load(town.bucket)
    broken = [*_ends(state, journal), *_starts(town, journal), *_epochs(journal), *_sleepers(harmed)]
    broken += _lines(town, harmed, journal)
    broken += _told(town, state)
    broken += _stopped(town)
    return broken


def _ends(state: State, journal: list[JournalObject]) -> Iterator[str]:
    """Each job ended exactly once, and well."""
    ends = Counter(event.job for record in journal for event in record.events if _succeeds(event))
    for name, job in state.jobs.items():
        if job.state is not JobState.SUCCEEDED or ends[name] != 1:
            yield f"{name} is {job.state} ({job.reason}) and ended well {ends[name]} times"
    for event in (event for record in journal for event in record.events if isinstance(event, Ended)):
        if event.cause not in (Cause.OK, Cause.LOST, Cause.VOID):
            yield f"attempt {event.key} ended by {event.cause}: {event.reason}"


def _succeeds(event: object) -> bool:
    return isinstance(event, Ended) and event.outcome is JobState.SUCCEEDED


def _starts(town: Town, journal: list[JournalObject]) -> Iterator[str]:
    """No attempt ran twice, and no two of a job at once."""
    for line in _read(town.home / "doubled"):
        yield f"two attempts at once: {line}"
    ran = Counter(tuple(line.split()[:2]) for line in _read(town.home / "starts"))
    promised = {(e.job, str(e.attempt)) for record in journal for e in record.events if isinstance(e, Started)}
    for attempt, times in ran.items():
        if times > 1 or attempt not in promised:
            known = "promised" if attempt in promised else "not promised"
            yield f"{'/'.join(attempt)}, {known} by the journal, ran {times} times"


def _epochs(journal: list[JournalObject]) -> Iterator[str]:
    """Nobody writes after his successor, and every machine was created by who promised it or came later."""
    begun, since = 0, dict[AttemptKey, int]()
    for record in journal:
        begins = [event.epoch for event in record.events if isinstance(event, Epoch)]
        begun = max(begun, *begins, 0) if begins else begun
        if record.epoch != begun:
            yield f"journal object {record.seq} is of epoch {record.epoch}, after epoch {begun} began"
        since |= {event.key: record.epoch for event in record.events if isinstance(event, Started)}
        for event in record.events:
            name = render.parse(event.machine) if isinstance(event, Claimed) else None
            if name is not None and name.epoch < since[name.key]:
                yield f"machine {name} was created before epoch {since[name.key]} promised it"


def _sleepers(harmed: Harmed) -> Iterator[str]:
    """Who woke to a larger epoch has ended by itself, and said why."""
    for sleeper in harmed.woken:
        if sleeper.process.returncode != 1:
            yield f"the bastion of epoch {sleeper.epoch} was deposed and ended with {sleeper.process.returncode}"


def _lines(town: Town, harmed: Harmed, journal: list[JournalObject]) -> Iterator[str]:
    """What a process had written is in the log of its attempt exactly once and in order.

    All of it, unless its whole machine was taken away: then a beginning of it.
    """
    well = {event.key for record in journal for event in record.events if _succeeds(event) and isinstance(event, Ended)}
    for file in (town.home / "printed").iterdir():
        job, _, number = file.name.rpartition(".")
        key, printed = AttemptKey(job, 0, int(number)), file.stat().st_size
        extent = logs.survey(town.bucket, layout.log(key, 0))
        text = b"".join(logs.read(town.bucket, extent.segments)).decode()
        *whole, rest = text.split("\n")
        said = [line for line in whole if not _NOTE.fullmatch(line)]
        taken = (job, int(number)) in harmed.machines
        if said != [f"{job} {number} line {n + 1}" for n in range(len(said))]:
            yield f"the log of {key} is not in order: {_first_wrong(said, job, number)}"
        if not taken and (rest or not extent.ended):
            yield f"the log of {key} has no end: {rest!r}"
        least, most = (0 if taken else printed), (printed if key in well else printed + 1)
        if not least <= len(said) <= most:
            yield f"the log of {key} has {len(said)} lines; {printed} were written"


def _first_wrong(said: list[str], job: str, number: str) -> str:
    where = next(n for n, line in enumerate(said) if line != f"{job} {number} line {n + 1}")
    return f"line {where + 1} of {len(said)} is {said[where]!r}"


def _told(town: Town, state: State) -> Iterator[str]:
    """What commands say is what the journal says, and all is well."""
    code, out = town.ask("launch", "ls", "--all", "--json")
    listed = {job["id"]: job["state"] for job in json.loads(out)["jobs"]} if code == 0 else {}
    if listed != {name: str(job.state) for name, job in state.jobs.items()}:
        yield f"launch ls --all shows {listed or out}; the journal has {sorted(state.jobs)}"
    try:
        town.await_until(lambda: _well(town, "status", "--json"), "status without problems")
        town.await_until(lambda: _well(town, "doctor", "--json"), "doctor that finds all well")
    except Failed as failed:
        yield f"{failed}: {town.ask('bastion', 'status')[1]} {town.ask('bastion', 'doctor')[1]}"


def _well(town: Town, *command: str) -> bool:
    code, out = town.ask("bastion", *command)
    if command[0] == "status":
        return code == 0 and not json.loads(out)["problems"]
    # That jobs are of the bastion's own account is so here, and warned of.
    odd = [check for check in json.loads(out)["checks"] if check["level"] != "ok"]
    return all(check["check"] == "jobs run as" for check in odd)


def _stopped(town: Town) -> Iterator[str]:
    """The bastions stop when asked to; then no process is left, and nothing in the bucket that waits or beats."""
    for bastion in town.bastions:
        if bastion.poll() is None:
            bastion.terminate()
            if bastion.wait(PATIENCE_S) != 0:
                yield f"a bastion that was asked to stop ended with {bastion.returncode}"
    server = {process.pid for process in town.descendants() if "fake-gcs-server" in _name(process)}

    def left() -> list[str]:
        return [str(each) for each in town.descendants() if each.pid not in server and is_alive(each)]

    try:
        town.await_until(lambda: not left(), "end of all processes")
    except Failed:
        yield f"processes are left: {left()}"
    for crew in town.crews():
        yield f"a machine is left: {crew}"


def _name(process: psutil.Process) -> str:
    """Empty, if it has ended by now."""
    try:
        return str(process.name())
    except psutil.Error:
        return ""


def story(town: Town) -> list[str]:
    """The journal, an event a line, and the last words of the bastions."""
    lines = []
    try:
        for record in objects(town.bucket, 0):
            lines += [f"{record.seq} {_clock(record.now)} epoch {record.epoch}: {event}" for event in record.events]
    except BastionError as error:
        lines.append(f"the journal cannot be read: {error}")
    for file in sorted(town.home.glob("bastion-*.log"), key=lambda file: file.stat().st_mtime)[-6:]:
        lines += [f"{file.stem}: {line}" for line in file.read_text(errors="replace").splitlines()[-12:]]
    return [line[:400] for line in lines]


def _clock(moment: datetime) -> str:
    return f"{moment:%H:%M:%S}"


def _read(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []
