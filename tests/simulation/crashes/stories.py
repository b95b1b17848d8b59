"""Scenarios of jobs. The first line of each function says what happens in it when nothing falls."""

from __future__ import annotations

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.job.spec import BundleRef, new_jobspec
from bastion.model.job.spec_changes import Changes
from bastion.model.stored.requests import Cancel, Hold, Pause, Release, Resume, Submit, Top, Update
from tests.simulation.crashes.machines import Act, AtNotice
from tests.simulation.crashes.play import Scenario, Story
from tests.simulation.scene import QUOTA

LONG = Act(seconds=400.0, again_s=6.0, at_notice=AtNotice.TIDY)
"""Longer than all else, the first time."""

ROOT = "root"


def succeed(story: Story) -> None:
    """A job runs to its end."""
    story.submit("train")


def fail_and_retry(story: Story) -> None:
    """A job fails once, and succeeds when it is tried again."""
    story.submit("train", Act(seconds=4, codes=(1, 0)), max_tries=2, retry_interval_s=5.0)


def fail_for_good(story: Story) -> None:
    """A job fails as often as it may."""
    story.submit("train", Act(seconds=4, codes=(3,)), max_tries=2, retry_interval_s=5.0)


def cancel_at_once(story: Story) -> None:
    """A job is cancelled before anybody has read that it is there."""
    story.services[0].stop()
    story.ask(Cancel(job=story.submit("train")))
    story.services[0].start()


def cancel_pending(story: Story) -> None:
    """A job that waits for room is cancelled."""
    story.submit("big", Act(seconds=15), v4=6)
    small = story.submit("small")
    story.until(small, "PENDING")
    story.ask(Cancel(job=small))


def cancel_provisioning(story: Story) -> None:
    """A job is cancelled while its machine comes up. It comes when the claim is void, and ends at once."""
    story.stage.creation_s = lambda: 15.0
    job = story.submit("train")
    story.until(job, "PROVISIONING")
    story.ask(Cancel(job=job))


def cancel_running(story: Story) -> None:
    """A job that runs, and would in every attempt, is cancelled, and tidies up."""
    job = story.submit("train", Act(seconds=400, at_notice=AtNotice.TIDY))
    story.until_written(job)
    story.ask(Cancel(job=job))


def cancel_twice(story: Story) -> None:
    """A job is cancelled again within its grace, by somebody else."""
    job = story.submit("train", Act(seconds=400, at_notice=AtNotice.TIDY, tidy_s=9.0), grace_s=20.0)
    story.until_written(job)
    story.ask(Cancel(job=job))
    story.until(job, "CANCELLING")
    story.ask(Cancel(job=job), user=ROOT)


def ignore_the_notice(story: Story) -> None:
    """A job that is cancelled does not heed it, until its grace is over."""
    job = story.submit("train", Act(seconds=400, at_notice=AtNotice.IGNORE), grace_s=5.0)
    story.until_written(job)
    story.ask(Cancel(job=job))


def preempt(story: Story) -> None:
    """A job that has borrowed is stopped for its owner's sake, waits in its old place, and runs again."""
    lent = story.submit("lent", LONG, v4=6)
    story.until_written(lent)
    story.submit("owner", user="bob", v4=3)


def reclaim_for_a_large_one(story: Story) -> None:
    """Two jobs are stopped for one; what the first leaves is kept for it until the second has tidied up."""
    story.put_file(
        layout.QUOTA,
        QUOTA.replace(b"red]\nv4 = 0.5", b"red]\nv4 = 0.1").replace(b"blue]\nv4 = 0.5", b"blue]\nv4 = 0.9"),
    )
    lent = [
        story.submit(
            f"lent{i}", Act(seconds=400, again_s=4, at_notice=AtNotice.TIDY, tidy_s=2 + 12 * i), v4=3, grace_s=20.0
        )
        for i in (0, 1)
    ]
    for job in lent:
        story.until_written(job)
    large = story.submit("large", user="bob", v4=5)
    story.until(large, "PENDING")
    story.submit("small", v4=2)


def gang(story: Story) -> None:
    """Two workers begin together, and both succeed."""
    story.submit("gang", replicas=2)


def gang_fails(story: Story) -> None:
    """One worker of a gang fails; the other is stopped, and both are tried again."""
    story.submit("gang", Act(seconds=5, codes=(1, 0), of=1), replicas=2, max_tries=2, retry_interval_s=5.0)


def gang_loses_a_machine(story: Story) -> None:
    """One machine of a gang dies; the other worker is stopped, and both run again."""
    job = story.submit("gang", LONG, replicas=2)
    story.until_written(job)
    story.end_machine(job, worker=1)


def array(story: Story) -> None:
    """Three tasks, of which two may run at once."""
    story.submit("sweep", Act(seconds=4), count=3, max_parallel=2)


def dependencies(story: Story) -> None:
    """Jobs wait for the ends of others: what never can begin ends, too."""
    good = story.submit("good", Act(seconds=4))
    bad = story.submit("bad", Act(seconds=4, codes=(1,)))
    story.submit("next", Act(seconds=4), after=[f"ok:{good}"])
    story.submit("rescue", Act(seconds=4), after=[f"fail:{bad}"])
    vain = story.submit("vain", after=[f"ok:{bad}"])
    story.submit("last", Act(seconds=4), after=[f"any:{vain}"])


def begin_later(story: Story) -> None:
    """A job is not to begin before its time."""
    story.submit("late", begin=story.moment(15))


def deadline_running(story: Story) -> None:
    """A job is stopped when its deadline passes."""
    story.submit("slow", Act(seconds=300, at_notice=AtNotice.TIDY), deadline=story.moment(20))


def deadline_waiting(story: Story) -> None:
    """A job's deadline passes before it could start, for all is paused."""
    story.ask(Pause(), user=ROOT)
    job = story.submit("train", deadline=story.moment(20))
    story.until(job, "TIMEOUT")
    story.ask(Resume(), user=ROOT)


def hold_and_release(story: Story) -> None:
    """A job is held after its first task has begun, and released when that has ended."""
    job = story.submit("sweep", Act(seconds=8), count=2, max_parallel=1)
    story.until_written(job)
    story.ask(Hold(job=job))
    story.stage.until(lambda: (found := story.job(job)) and found.held and not story.stage.laws.truth.live, "held")
    story.ask(Release(job=job))


def update_waiting(story: Story) -> None:
    """A job that waits gets another command and more tries."""
    story.submit("big", Act(seconds=12), v4=6)
    job = story.submit("train", retry_interval_s=5.0)
    story.until(job, "PENDING")
    command = story.does("run it otherwise", Act(seconds=4, codes=(1, 0)))
    story.ask(Update(job=job, changes=Changes(command=command, bundle=BundleRef(), max_tries=2)))


def update_running(story: Story) -> None:
    """A job that runs gets another command: it is stopped, and its successor begins on what it held."""
    job = story.submit("train", LONG)
    story.until_written(job)
    command = story.does("run it otherwise", Act(seconds=4))
    story.ask(Update(job=job, changes=Changes(command=command, bundle=BundleRef())))


def time_limit(story: Story) -> None:
    """A job runs for longer than it may."""
    story.submit("slow", Act(seconds=400, at_notice=AtNotice.TIDY), time_limit_s=6.0)


def lose_a_machine(story: Story) -> None:
    """A machine dies while a job runs on it, which runs again."""
    job = story.submit("train", LONG)
    story.until_written(job)
    story.end_machine(job)


def many_requests(story: Story) -> None:
    """Many requests lie in the inbox at once, and are removed together."""
    story.services[0].stop()
    jobs = [story.submit(f"j{i}", Act(seconds=3), user=("ann", "bob")[i % 2]) for i in range(4)]
    story.ask(Hold(job=jobs[0]))
    story.ask(Cancel(job=jobs[1]), user="bob")
    story.ask(Release(job=jobs[0]))
    story.ask(Cancel(job=jobs[2]), user="bob")  # not theirs: refused
    story.ask(Top(job=jobs[2]))
    story.services[0].start()


def reject(story: Story) -> None:
    """What cannot be done is refused, with a reason, and touches nobody else."""
    story.services[0].stop()
    huge = new_jobspec(name="huge", user="ann", project="red", command="run", resources={"v4": 60})
    story.write_unchecked("ann", encode(Submit(spec=huge)))
    story.write_unchecked("ann", encode(Submit(spec=huge)).replace(b'"ann"', b'"eve"'))
    story.write_unchecked("bob", b"\xff{")
    story.ask(Cancel(job="nobody-00000000"))
    story.ask(Pause())
    story.submit("train", Act(seconds=4))
    story.services[0].start()


OF_JOBS = tuple(
    map(
        Scenario,
        (
            succeed, fail_and_retry, fail_for_good, cancel_at_once, cancel_pending, cancel_provisioning, cancel_running,
            cancel_twice, ignore_the_notice, preempt, reclaim_for_a_large_one, gang, gang_fails, gang_loses_a_machine,
            array, dependencies, begin_later, deadline_running, deadline_waiting, hold_and_release, update_waiting,
            update_running, time_limit, lose_a_machine, many_requests, reject,
        ),
    )
)  # fmt: skip
