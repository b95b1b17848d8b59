"""Scenarios of bastions, files and machines. The first line of each function says what happens when nothing falls."""

from __future__ import annotations

from bastion.journal.journal import Journal, take_over
from bastion.journal.snapshot import EVERY
from bastion.model import layout
from bastion.model.state.state import State
from bastion.model.stored.events import Epoch, Paused, Resumed
from bastion.model.stored.requests import Pause, Resume
from bastion.model.version import VERSION
from tests.simulation.crashes.machines import Act
from tests.simulation.crashes.play import Scenario, Story
from tests.simulation.crashes.stage import Stage
from tests.simulation.crashes.stories import LONG, ROOT
from tests.simulation.parts.kernel import Life, SimClock, SimIds
from tests.simulation.scene import QUOTA

DAY_S = 86_400.0


def shrink_the_quota(story: Story) -> None:
    """The whole gets smaller while all of it is in use: what is borrowed is taken back."""
    own, lent = story.submit("own", Act(seconds=400, again_s=5), v4=3), story.submit("lent", LONG, v4=3)
    story.until_written(own)
    story.until_written(lent)
    story.put_file(layout.QUOTA, QUOTA.replace(b"v4 = 6", b"v4 = 4"))
    story.submit("owner", Act(seconds=4), user="bob", v4=2)


def break_the_quota(story: Story) -> None:
    """The quota file is broken: the last good one stays in force, also for who submits now. Then it is put right."""
    files = story.stage.laws.truth.files
    story.stage.until(lambda: "quota" in files, "the quota is known")
    story.put_file(layout.QUOTA, b"[toml-schema\n", good=False)
    story.stage.until(lambda: files["quota"].problem, "the quota is seen to be broken")
    story.submit("train", Act(seconds=4))
    story.wait(6)
    story.put_file(layout.QUOTA, QUOTA)
    story.submit("other", Act(seconds=4), user="bob")


def fail_over(story: Story) -> None:
    """The host of the bastion dies; the one that stands by takes over."""
    job = story.submit("train", Act(seconds=25))
    story.until_written(job)
    story.at_work().lose()
    story.submit("next", Act(seconds=4))


def stand_by(story: Story) -> None:
    """A second bastion stands by, and has nothing to do."""
    story.submit("train")


def stop_and_start(story: Story) -> None:
    """The bastion is stopped while a job runs, and started again later."""
    job = story.submit("train", Act(seconds=20))
    story.until_written(job)
    story.services[0].stop()
    story.wait(8)
    story.services[0].start()


def snapshot(story: Story) -> None:
    """The journal has become long: a child writes a snapshot."""
    story.submit("train", Act(seconds=4))
    story.ends.append(lambda: any(map(layout.is_snapshot, story.stage.store.objects)))


def retire(story: Story) -> None:
    """A month after its end a job leaves, with its orders and claims; a trace of it stays."""
    job = story.submit("train", Act(seconds=4))
    story.until(job, "SUCCEEDED")
    story.services[0].stop()
    story.wait(31 * DAY_S)
    story.services[0].start()
    story.ends.append(lambda: layout.ended(job) in story.stage.store.objects and story.job(job) is None)
    story.ends.append(lambda: not story.stage.laws.truth.requests)


def pause_and_resume(story: Story) -> None:
    """Nothing starts while an admin has paused the bastion; what runs goes on."""
    job = story.submit("first", Act(seconds=12))
    story.until_written(job)
    story.ask(Pause(), user=ROOT)
    story.stage.until(lambda: story.stage.laws.truth.paused, "paused")
    later = story.submit("second", Act(seconds=4))
    story.until(later, "PENDING")
    story.stage.until(lambda: not story.stage.laws.truth.live, "nothing runs")
    story.ask(Resume(), user=ROOT)


def lengthen_the_journal(stage: Stage) -> None:
    """Give the journal so many objects that a snapshot is due, as if a bastion had fallen after them."""
    clock = SimClock(stage.kernel)
    journal = Journal(stage.bucket(), clock, SimIds(stage.kernel), State())
    stage.lives.append(Life())
    stage.lives[0].end()
    journal.begin(clock.wall())
    journal.epoch = 1
    take_over(journal, Epoch(epoch=1, host="host0", pid=0, version=VERSION))
    for number in range(EVERY - 2):
        journal.add((Resumed if number % 2 else Paused)(request=f"root/p{number}", user=ROOT))
        journal.commit()


OF_BASTIONS = (
    *map(Scenario, (shrink_the_quota, break_the_quota, stop_and_start, retire, pause_and_resume)),
    Scenario(fail_over, hosts=2),
    Scenario(stand_by, hosts=2),
    Scenario(snapshot, before=lengthen_the_journal),
)
