"""`bastion history`: print what happened to a project, one line each, from the journal alone."""

from __future__ import annotations

from bastion.launcher.history.project_history import HEADS
from bastion.launcher.history.project_reader import project_history
from bastion.launcher.read.job_rows import gap_lines, gap_rows, rfc3339, sign_of_life
from bastion.launcher.read.view import View, tick_age_s
from bastion.model.durations import moment
from bastion.model.errors import BastionError
from bastion.model.nearest import did_you_mean
from bastion.model.stored.journal_object import Gaps
from bastion.schedule.plan import inputs

from ..common.command_context import context_of
from ..options.bastion import HistoryOptions
from ..terminal.main import DONE, Call
from ..terminal.table import table


def run(call: Call[HistoryOptions]) -> int:
    """Print the events of the project's jobs, and the changes of its share."""
    context, [project] = context_of(call), call.words
    since = moment(call.options.since, context.clock.wall())
    view = context.reader().look()
    gaps = Gaps(list(view.gaps))
    with call.output.progress("reading the journal"):
        found = list(project_history(context.bucket, context.tasks, view.state, project, since, gaps))
    if not found:
        _check(project, view)
    if call.output.json:
        bastion = {"name": context.bastion, "last_tick_age_s": tick_age_s(view.status, view.now)}
        shown = {"schema": 1, "project": project, "since": rfc3339(since), "events": [entry.row() for entry in found]}
        call.output.data({**shown, "bastion": bastion, **gap_rows(gaps.found)})
        return DONE
    heads, *lines = table(HEADS, [entry.cells() for entry in found], width=call.output.width)
    lines = [call.output.bold(heads), *lines] if found else [f"nothing happened to {project} since {rfc3339(since)}"]
    foot = f"bastion {context.bastion}: {sign_of_life(view)}."
    call.output.say("\n".join([*lines, *gap_lines(gaps.found), foot]))
    return DONE


def _check(project: str, view: View) -> None:
    """Raise `BastionError` with the nearest name if the project is unknown."""
    quota = inputs(view.state).quota
    known = {job.project for job in view.state.jobs.values()}
    known |= {*quota.shares, *quota.members} if quota else set()
    if project not in known:
        otherwise = f"there are {', '.join(sorted(known)[:20])}" if known else "there are none yet"
        raise BastionError(f"no project {project[:100]!r}; {did_you_mean(project[:100], known, otherwise)}")
