"""`bastion recover --heal_time`: set back a journal's time that ran ahead of the store's, and list the consequences."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from bastion.journal import point_in_time, recover
from bastion.journal.fold import fold
from bastion.journal.journal import Journal
from bastion.model import clocks, layout
from bastion.model.clocks import OFF_MAX_S
from bastion.model.durations import short
from bastion.model.errors import BastionError, LeadershipLost
from bastion.model.state.state import Cause, Job, JobState, State
from bastion.model.stored.events import AnyEvent, Epoch, Lapsed, Started, Stopping
from bastion.model.stored.journal_object import Gaps
from bastion.model.version import VERSION
from bastion.platform import host
from bastion.platform.store_clock import StoreClock
from bastion.platform.system import RandomIds, SystemClock, ThreadTasks
from bastion.stores.local import LocalBucket

from ...common.bastion_alive import has_ended
from ...common.command_context import user_of
from ...common.place import BastionPlace, check_admin, known_place_of
from ...options.bastion import RecoverOptions
from ...terminal.confirm import agree
from ...terminal.main import DONE, Call
from ...terminal.table import plain


def run(call: Call[RecoverOptions]) -> int:
    """Return 0 once the journal's time, and the dates of a folder, are no longer ahead."""
    place, user = known_place_of(call), user_of(call)
    check_admin(place, user)
    if not has_ended(place):
        raise BastionError(f"bastion {place.name} may be running; stop it first: bastion stop")
    now, folder_s = _now(place)
    state = recover.load(place.bucket, ThreadTasks().map)
    if not clocks.ahead(state.now, now) and folder_s <= OFF_MAX_S:
        return _tell(call, place, [], "the journal's time is not ahead of the store's: there is nothing to do")
    early = list(_done(place, now))
    ahead = short((state.now - now).total_seconds()) if state.now and state.now > now else "not"
    if not call.output.json:
        lines = [f"the journal's time is {ahead} ahead", *(f"effect   {line}" for line in early)]
        call.output.say("\n".join(plain(line) for line in lines))
    agree(call, f"set it back to {now:%Y-%m-%dT%H:%M:%SZ}?")
    if isinstance(place.root, LocalBucket):
        place.root.ahead_s(heal=True)
    if clocks.ahead(state.now, now):
        _append(place, state, user, now)
    return _tell(
        call, place, early, "the time is corrected; effects of the wrong time stay: check which jobs to submit again"
    )


def _now(place: BastionPlace) -> tuple[datetime, float]:
    """Return the store's time, corrected for a folder that dates ahead, and that correction in seconds.

    Raises `BastionError` if our own clock is wrong.
    """
    clock = SystemClock()
    folder_s = place.root.ahead_s() if isinstance(place.root, LocalBucket) else 0.0
    folder_s = folder_s if folder_s > OFF_MAX_S else 0.0
    asked = StoreClock(place.bucket, clock, host.name(), os.getpid()).ask()
    if problem := clocks.wrong(asked.off_s - folder_s):
        raise BastionError(problem)
    return asked.least(clock.monotonic()) - timedelta(seconds=folder_s), folder_s


def _done(place: BastionPlace, now: datetime) -> Iterator[str]:
    """Yield what began or ended too early, from the journal objects that are dated ahead."""
    bucket, at_once, limit = place.bucket, ThreadTasks().map, now + timedelta(seconds=OFF_MAX_S)
    first, end = point_in_time.number_after(bucket, limit, at_once), point_in_time.end(bucket)
    state = point_in_time.state_below(bucket, first, at_once, Gaps(), lambda _: None)
    listed = bucket.list(layout.JOURNAL, after=layout.journal(first - 1) if first else "")
    dated = {layout.seq_of(stat.key): stat.modified for stat in listed if layout.is_journal(stat.key)}
    for record in recover.objects(bucket, first, at_once, below=end):
        if record.now > limit:
            early = did(state, record.events, dates(dated, record.seq, now))
            yield from early
        fold(state, record)


def _append(place: BastionPlace, state: State, user: str, now: datetime) -> None:
    epoch = state.epoch + 1
    journal = Journal(place.bucket, SystemClock(), RandomIds(), state)
    journal.begin(now)
    journal.epoch = epoch
    journal.add(Epoch(epoch=epoch, host=host.name(), pid=os.getpid(), version=VERSION, healed_by=user))
    try:
        journal.commit()
    except LeadershipLost as deposed:
        raise BastionError(
            "a bastion started meanwhile, so nothing was corrected; stop it first: bastion stop"
        ) from deposed


def _tell(call: Call[RecoverOptions], place: BastionPlace, early: list[str], said: str) -> int:
    if call.output.json:
        call.output.data({"schema": 1, "name": place.name, "early": early, "said": said})
    else:
        call.output.say(said)
    return DONE


def did(state: State, events: Iterable[AnyEvent], dated: datetime) -> Iterator[str]:
    """Yield one line for each event that had an effect before its time.

    The store `dated` the events: that is when they were really written.
    """
    for event in events:
        job = state.jobs.get(getattr(event, "job", ""))
        if job is not None and (line := _early(event, job, dated)):
            yield line


def _early(event: AnyEvent, job: Job, dated: datetime) -> str:
    match event:
        case Started() if job.begin and (job.begin - dated).total_seconds() > OFF_MAX_S:
            return f"{event.key} was started {short((job.begin - dated).total_seconds())} before its --begin"
        case Stopping(cause=Cause.DEADLINE) | Lapsed(outcome=JobState.TIMEOUT) if job.deadline and job.deadline > dated:
            return f"{job.id} was ended {short((job.deadline - dated).total_seconds())} before its --deadline"
    return ""


def dates(listed: Mapping[int, datetime], seq: int, now: datetime) -> datetime:
    """Return when a journal object was written: the date that the store gave it, but not after `now`."""
    return min(listed.get(seq, now), now)
