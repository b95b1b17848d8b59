"""Who uses what of its share, and whom a new quota would touch."""

from __future__ import annotations

from datetime import UTC, datetime

from bastion.model.state.state import Attempt, AttemptState, Job, JobState, State, Task
from bastion.quota.quota import Quota
from bastion.quota.quota_file import parse
from bastion.schedule.quota_impact import affected, left
from bastion.schedule.usage import ProjectUsage, usage

NOW = datetime(2030, 1, 1, tzinfo=UTC)
QUOTA = """
[toml-schema]
version = "1"
[total_resources]
v4 = 8
[project_membership]
nlp = ["alice"]
vision = ["bob"]
[project_resources.nlp]
v4 = 0.5
[project_resources.vision]
v4 = 0.5
"""


def state(*jobs: Job) -> State:
    live = {job.id: dict.fromkeys(job.tasks) for job in jobs if job.tasks}
    return State(now=NOW, jobs={job.id: job for job in jobs}, live=live, capacity={"local": {"v4": 8}})


def job(name: str, project: str, user: str, amount: int, *, running: bool) -> Job:
    attempt = Attempt(number=0, state=AttemptState.RUNNING, runner="local", started=NOW)
    now = JobState.RUNNING if running else JobState.PENDING
    return Job(
        id=f"{name}-00000000", name=name, user=user, project=project, priority=5, resources={"v4": amount}, replicas=1,
        count=1, max_tries=1, retry_interval_s=60, grace_s=30, seq=1, index=0, request=name, submitted=NOW, since=NOW,
        tasks={0: Task(state=now, attempts=[attempt])} if running else {}, counts={now: 1},
    )  # fmt: skip


def test_what_is_held_beyond_the_share_is_borrowed() -> None:
    rows = usage(state(job("a", "nlp", "alice", 6, running=True)), parse(QUOTA))
    assert rows == [
        ProjectUsage(project="nlp", kind="v4", share=4, used=6, borrowed=2),
        ProjectUsage(project="vision", kind="v4", share=4, used=0, borrowed=0),
    ]


def test_without_a_quota_nothing_is_borrowed() -> None:
    rows = usage(state(job("a", "default", "alice", 6, running=True)), Quota.open())
    assert rows == [ProjectUsage(project="default", kind="v4", share=0, used=6, borrowed=0)]


def test_waiting_jobs_use_nothing() -> None:
    assert usage(state(job("a", "nlp", "alice", 6, running=False)), parse(QUOTA))[0].used == 0


WITHOUT_ALICE = parse(QUOTA.replace('"alice"', '"carol"'))


def test_what_those_hold_who_left_is_borrowed_and_none_of_their_projects_use() -> None:
    rows = usage(
        state(job("a", "nlp", "alice", 3, running=True), job("c", "nlp", "carol", 4, running=True)), WITHOUT_ALICE
    )
    assert rows == [
        ProjectUsage(project="nlp", kind="v4", share=4, used=4, borrowed=0),
        ProjectUsage(project="nlp (members who left)", kind="v4", share=0, used=3, borrowed=3),
        ProjectUsage(project="vision", kind="v4", share=4, used=0, borrowed=0),
    ]


def test_who_leaves_a_project_is_named_with_what_they_hold() -> None:
    there = state(job("a", "nlp", "alice", 4, running=True), job("b", "nlp", "alice", 4, running=False))
    assert affected(there, parse(QUOTA), WITHOUT_ALICE) == [
        "job a-00000000 of alice: no longer a member of nlp; it runs and holds v4=4, from now on as borrowed; --stop_affected "
        "ends it",
        "job b-00000000 of alice: no longer a member of nlp; it stays waiting; --stop_affected ends it",
    ]
    assert [one.name for one in left(there, WITHOUT_ALICE)] == ["a", "b"]
    assert left(there, parse(QUOTA)) == []


def test_a_job_that_no_longer_fits_is_named() -> None:
    new = parse(QUOTA.replace("v4 = 8", "v4 = 4"))
    lines = affected(state(job("a", "nlp", "alice", 6, running=False)), parse(QUOTA), new)
    assert lines == ["job a-00000000 of alice: needs v4=6, more than the new total of v4=4"]


def test_a_smaller_share_says_how_much_can_be_reclaimed() -> None:
    new = parse(QUOTA.replace("nlp]\nv4 = 0.5", "nlp]\nv4 = 0.25"))
    lines = affected(state(job("a", "nlp", "alice", 4, running=True)), parse(QUOTA), new)
    assert lines == ["project nlp: holds 4 v4 and would be promised 2; 2 can be reclaimed"]


LIMITS = '\n[project_classes]\nnlp = ["urgent"]\n[user_limits]\nnlp = { v4 = 4 }\n'


def test_who_holds_more_than_a_new_user_limit_is_named_and_so_is_a_job_that_it_bars() -> None:
    there = state(
        job("a", "nlp", "alice", 3, running=True),
        job("b", "nlp", "alice", 3, running=True),
        job("c", "nlp", "carol", 4, running=True),
        job("d", "nlp", "dan", 5, running=False),
        job("e", "vision", "alice", 5, running=True),
    )
    new = parse(QUOTA + LIMITS)
    assert [line for line in affected(there, parse(QUOTA), new) if "project" not in line] == [
        "job d-00000000 of dan: needs v4=5, more than each user of nlp may hold from now on",
        "user alice: holds 6 v4 of nlp, and may hold 4; what runs goes on",
    ]
    assert affected(there, new, new) == []


def test_a_job_whose_class_is_granted_no_more_is_named() -> None:
    urgent = job("a", "nlp", "alice", 1, running=False)
    urgent.job_class = "urgent"
    there = state(urgent, job("b", "nlp", "alice", 1, running=False))
    assert affected(there, parse(QUOTA + LIMITS), parse(QUOTA)) == [
        "job a-00000000 of alice: nlp may no longer have urgent jobs; what runs goes on, what waits stays waiting"
    ]


def test_an_equal_quota_touches_nobody() -> None:
    there = state(job("a", "nlp", "alice", 6, running=True), job("b", "vision", "bob", 2, running=True))
    assert affected(there, parse(QUOTA), parse(QUOTA)) == []
