"""`bastion quota simulate`: run past jobs again, under the present quota file and under a proposed one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from bastion.journal import journal_reader, point_in_time
from bastion.journal.fold import fold
from bastion.launcher.read.job_rows import gap_lines, gap_rows, rfc3339
from bastion.model.durations import moment
from bastion.model.errors import BastionError, UsageError
from bastion.model.interfaces import Bucket, Map
from bastion.model.state.state import State
from bastion.model.stored.journal_object import Gap, Gaps
from bastion.model.stored.status import Status
from bastion.platform.system import SystemClock, ThreadTasks
from bastion.quota.quota import Quota
from bastion.schedule.plan import inputs
from bastion.simulate.from_journal import JournalJobs
from bastion.simulate.simulated_run import RunSettings, SimulatedRun, everybody, simulate
from bastion.simulate.simulation_report import project_rows, row
from bastion.simulate.workload import Arrival, WorkPace

from ...common import admin_file
from ...common.place import BastionPlace, known_place_of
from ...options.bastion import QuotaOptions
from ...terminal import html_charts
from ...terminal.main import DONE, Call
from . import simulate_plot, simulated
from .quota_edit import QUOTA_FILE, load
from .simulating import kind_of, pace_of, read_trace

NAMES = ("present", "proposed")


@dataclass(frozen=True, slots=True)
class _Story:
    """The jobs to simulate, and what to print about them.

    arrivals: the jobs.
    source: where they come from, for JSON.
    notes: lines about jobs that are only partly known.
    gaps: the gaps in the journal.
    """

    arrivals: Sequence[Arrival]
    source: Mapping[str, Any]
    notes: Sequence[str] = ()
    gaps: Sequence[Gap] = ()


def run(call: Call[QuotaOptions], path: Path) -> int:
    """Simulate both files, and print them side by side."""
    proposed, pace, place = load(path)[1], pace_of(call.options), known_place_of(call)
    kind = kind_of(call.options, proposed)
    with call.output.progress("reading the journal"):
        state, story = _story(call, place, pace, kind)
    if not story.arrivals:
        raise BastionError("no job ran that could be simulated; look further back with --since, or use --trace=FILE")
    runs: dict[str, SimulatedRun] = {}
    for name, quota in zip(NAMES, (_present(place, state), proposed), strict=True):
        scene = RunSettings(
            quota=everybody(quota) if call.options.trace else quota,
            config=inputs(state).config,
            pace=pace,
            kind=kind,
            capacity=state.reported(),
            big=call.options.big,
            log=bool(call.options.plot),
        )
        with call.output.progress(f"simulating the {name} quota file"):
            runs[name] = simulate(scene, story.arrivals)
    _show(call, kind, runs, story)
    return DONE


def _present(place: BastionPlace, state: State) -> Quota:
    """Return the quota of the stored file; if that is broken, the quota in force. Raises `BastionError` without any."""
    quota, problem = QUOTA_FILE.lenient(admin_file.read(place.bucket, QUOTA_FILE).text)
    found: Quota | None = inputs(state).quota if problem else quota
    if found is None:
        raise BastionError(
            f"the quota file of bastion {place.name} is broken, and there never was a good one: {problem}"
        )
    return found


def _story(call: Call[QuotaOptions], place: BastionPlace, pace: WorkPace, kind: str) -> tuple[State, _Story]:
    """Return the present state, and the jobs: from --trace if it is set, else from the journal."""
    trace, at_once, gaps = call.options.trace, ThreadTasks().map, Gaps()
    if trace:
        if "since" in call.given:
            raise UsageError("--since selects jobs of the journal, and --trace replaces the journal; leave one out")
        return journal_reader.load(place.bucket, at_once, gaps), _Story(read_trace(Path(trace), kind), {"trace": trace})
    now = SystemClock().wall()
    since = moment(call.options.since, now)
    state, replay = read_replay(place.bucket, since, pace, at_once, gaps, call.output.note)
    replay.close(min(now, _last_known(state, place.status()) or now))
    notes = []
    if replay.unfinished:
        notes.append(f"{replay.unfinished} tasks still run; they count with their running time so far")
    if replay.unknown:
        notes.append(f"{replay.unknown} jobs are left out: they never ran, so their running time is not known")
    source = {"since": rfc3339(since), "unfinished_tasks": replay.unfinished, "jobs_that_never_ran": replay.unknown}
    return state, _Story(replay.arrivals, source, notes, gaps.found)


def _last_known(state: State, status: Status | None) -> datetime | None:
    """Return the last moment at which the bastion certainly looked after its jobs; None if unknown."""
    return max((at for at in (state.now, status.last_tick if status else None) if at), default=None)


def read_replay(
    bucket: Bucket, since: datetime, pace: WorkPace, at_once: Map, gaps: Gaps, note: Callable[[str], None]
) -> tuple[State, JournalJobs]:
    """Return the present state, and the jobs that were submitted since this moment. Raises `BucketError`, `NewerVersion`.

    It reads the journal once, from the newest snapshot that is older. `note` gets a message if that takes long.
    """
    begin = point_in_time.number_at(bucket, since, at_once)
    state = point_in_time.state_below(bucket, begin, at_once, gaps, note)
    replay = JournalJobs(state, since, pace)
    for record in journal_reader.read(bucket, range(begin, point_in_time.end(bucket)), at_once, gaps):
        replay.take(record)
        state.seq = record.seq
        fold(state, record, lenient=bool(gaps.found))
    return state, replay


def _show(call: Call[QuotaOptions], kind: str, runs: Mapping[str, SimulatedRun], story: _Story) -> None:
    reports = [one.report for one in runs.values()]
    if call.options.plot:
        numbers = simulated.lines(NAMES, reports, kind)
        html_charts.save(Path(call.options.plot), simulate_plot.page(runs, kind, title="What if", numbers=numbers))
        call.output.note(f"plotted in {call.options.plot}")
    if call.output.json:
        rows = {
            name: {**row(one, kind), "by_project": project_rows(one)} for name, one in zip(NAMES, reports, strict=True)
        }
        call.output.data({"schema": 1, "resource": kind, **story.source, **rows, **gap_rows(story.gaps)})
        return
    tables = simulated.lines(NAMES, reports, kind, call.output.width, bold=call.output.bold)
    foot = [*story.notes, *simulated.notes(NAMES, reports), *gap_lines(story.gaps)]
    call.output.say("\n".join([*tables, *foot]))
