"""Send requests about jobs: select the jobs, check whether the bastion would refuse, send one request for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bastion.launcher.read.job_lookup import FoundJob
from bastion.launcher.read.job_words import chosen, is_pattern
from bastion.launcher.read.past_jobs import look_up
from bastion.launcher.read.view import JobFilter, View, filter_of
from bastion.launcher.submit.sending import send
from bastion.model.errors import BastionError, Forbidden, UsageError
from bastion.model.stored.requests import AboutJob, Cancel
from bastion.schedule.permissions import VERBS, refusal, stranger
from bastion.schedule.plan import DecisionInputs, inputs

from ..options.shared import FilterOptions, SeveralOptions, UserOptions
from ..terminal.main import DONE, Call
from .command_context import CommandContext, check_user, context_of, user_of
from .job_choice import job_of

SHOWN = 5

Asked = Sequence[tuple[FoundJob, AboutJob]]


@dataclass(frozen=True, slots=True)
class SelectedJobs:
    """The jobs that a command line means.

    jobs: the jobs.
    alone: whether the command line names exactly one job and could not mean several.
    """

    jobs: tuple[FoundJob, ...]
    alone: bool


@dataclass(frozen=True, slots=True)
class JobRequest:
    """One command that requests something about jobs.

    call: the command line.
    context: the context of the command.
    user: the user who asks.
    view: the state of the bastion when the command began.
    """

    call: Call[UserOptions]
    context: CommandContext
    user: str
    view: View

    @classmethod
    def begin(cls, call: Call[UserOptions]) -> JobRequest:
        """Read the state of the bastion. Raises `UsageError` if the user may not ask in this name."""
        context, user = context_of(call), user_of(call)
        check_user(context.settings, user)
        return cls(call, context, user, context.reader().look())

    def one(self) -> SelectedJobs:
        """Return the job that the command's word means. Raises `JobNotFound`."""
        return SelectedJobs((job_of(self.call, self.context, self.view),), alone=True)

    def several(self, options: SeveralOptions) -> SelectedJobs:
        """Return the jobs that words and filters mean. Raises `JobNotFound`, `UsageError`."""
        words, filters = self.call.words, filter_of(options.of(FilterOptions), self.context.clock.wall())
        if not words and filters == JobFilter():
            raise UsageError(
                "no job is named; use names, ids, patterns like 'sweep-*', or -u, -p, -s, --since, --label"
            )
        for line in filters.unknown_names(self.view):
            self.call.output.note(line)
        jobs = chosen(words, self.view, filters, self._look_up, user=None if options.all else self.user)
        return SelectedJobs(jobs, alone=len(words) == 1 and filters == JobFilter() and not is_pattern(words[0]))

    def _look_up(self, word: str) -> FoundJob:
        return look_up(word, self.view, self.context.bucket, self.context.tasks)

    def ask(self, found: SelectedJobs, request: Callable[[FoundJob], AboutJob], told: Callable[[FoundJob], str]) -> int:
        """Send a request for each of the jobs, or none at all if the bastion would refuse one.

        `told` is the message for people.

        Raises `Forbidden`, `BastionError`, `UsageError`.
        """
        asked = [(_whole(job), request(job)) for job in found.jobs]
        self.check(asked)  # all before the first request: so it is all jobs or none
        self.send(asked)
        for job in found.jobs:
            self.call.output.note(told(job))
        return self.answer(found)

    def check(self, asked: Asked) -> None:
        """Raise `Forbidden` or `BastionError` with the answer of the bastion, as far as it can be predicted."""
        known = inputs(self.view.state)
        foreign = [stranger(request, self.user, job.job or job.spec, known) for job, request in asked]
        if any(foreign):
            raise Forbidden(_few(foreign))
        wrong = [self._refusal(job, request, known) for job, request in asked if job.job]
        if any(wrong):
            raise BastionError(_few(wrong))

    def _refusal(self, job: FoundJob, request: AboutJob, known: DecisionInputs) -> str:
        if job.id in self.view.state.jobs:
            return refusal(request, self.user, self.view.state, known)
        if isinstance(request, Cancel):  # it has left the state, so it ended long ago: nothing to stop
            return ""
        return f"job {job.id} has ended long ago; there is nothing to {VERBS[type(request)]}"

    def send(self, asked: Asked) -> None:
        """Send one request for each job, all at once. Raises `BastionError` if some could not be stored."""
        context = self.context
        sent = context.tasks.map(
            lambda request: send(context.bucket, user=self.user, request_id=context.ids.new(), request=request),
            [request for _, request in asked],
        )
        failed = [error for error in sent if isinstance(error, Exception)]
        if failed:
            raise BastionError(f"{len(failed)} of {len(sent)} requests could not be stored: {failed[0]}") from failed[0]

    def answer(self, found: SelectedJobs) -> int:
        """Print the names on standard output. As JSON, print one object for a job that is meant alone, else a list."""
        output, rows = self.call.output, [{"id": job.id, "name": job.name} for job in found.jobs]
        if output.json:
            output.data(rows[0] if found.alone else {"schema": 1, "jobs": rows})
        else:
            output.say("\n".join(job.name for job in found.jobs))
        return DONE


def _whole(found: FoundJob) -> FoundJob:
    if found.task is not None:
        raise UsageError(f"this command works on a whole job; leave out [{found.task}]")
    return found


def _few(lines: Sequence[str]) -> str:
    said = [line for line in lines if line]
    more = f"; and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
    return "; ".join(said[:SHOWN]) + more
