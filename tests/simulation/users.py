"""Users of a simulated world: they submit, look, control and cancel, by the client's own code, and never wait for answers."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Any

from msgspec import UNSET

from bastion.launcher.read.reader import BastionReader
from bastion.launcher.submit import sending
from bastion.model.errors import BastionError, BucketError
from bastion.model.job.alternatives import Alternative
from bastion.model.job.spec import FINISH_TIMEOUT_S, BundleRef, JobSpec, new_jobspec
from bastion.model.job.spec_changes import Changes
from bastion.model.layout import job_id
from bastion.model.settings.config import parse
from bastion.model.stored.requests import Cancel, Hold, Release, Request, Submit, Top, Update
from tests.simulation import scripts
from tests.simulation.laws.input import ACCOUNTS
from tests.simulation.line import bucket_of
from tests.simulation.parts.broken import Broken
from tests.simulation.parts.kernel import Life, SimClock, SimTasks
from tests.simulation.parts.plan import Act
from tests.simulation.scene import Scene

PEOPLE = {"ann": "red", "bob": "blue"}


class User:
    """Somebody at a terminal, with dice and a line of their own."""

    def __init__(self, scene: Scene, act: Act, number: int) -> None:
        self._scene, self._number = scene, number
        self._dice = Random(f"{act.kind} {act.seed}")
        self._choices = Random(f"choices {act.seed}")
        self._life = Life()
        self.bucket, _ = bucket_of(scene, f"user {act.seed}")

    def live(self) -> None:
        """Submit one job, and maybe look at it, change it, cancel it."""
        dice, scene = self._dice, self._scene
        request, spec = f"{dice.getrandbits(128):032x}", self._spec()
        job = self._know(spec, request)
        scene.trace.seen.update(name for name in ("after", "begin", "deadline") if getattr(spec, name))
        early = dice.random() < 0.05
        if early:
            self.cancel(spec.user, job)
        self._check(spec)
        self.send(spec.user, Submit(spec=spec), request)
        scene.acknowledged.add(job)
        if dice.random() < 0.3:
            self._look()
        if dice.random() < 0.4:
            self._controls(spec, job)
        if not early and dice.random() < 0.3:
            scene.kernel.sleep(dice.choice([0.0, dice.uniform(0, 15), dice.uniform(0, 100)]))
            self.cancel(spec.user, job)

    def submit(self, spec: JobSpec) -> str:
        """Submit this job, and do nothing more about it: its id."""
        request = f"{self._dice.getrandbits(128):032x}"
        job = self._know(spec, request)
        self.send(spec.user, Submit(spec=spec), request)
        self._scene.acknowledged.add(job)
        return job

    def _know(self, spec: JobSpec, request: str) -> str:
        """Let all know what its machines do, and what it is."""
        job, scene = job_id(spec.name, request), self._scene
        scripts.know(scene, str(spec.command), self._dice)
        scene.specs[job], scene.requests[job] = spec, request
        return job

    def ask(self, user: str, body: Request, *, by: str = "") -> str:
        """Write a request until it stands: its id. `by` writes it, if not the user themselves."""
        request = f"{self._dice.getrandbits(128):032x}"
        self.send(user, body, request, by=by)
        return request

    def send(self, user: str, body: Request, request: str, *, by: str = "") -> None:
        """The same, of this id. A request of this id with another content in the way is given up."""
        while True:
            self.bucket.account = ACCOUNTS[by or user]
            try:
                sending.send(self.bucket, user=user, request_id=request, request=body)
                return
            except BucketError:
                self._scene.kernel.sleep(self._dice.uniform(0, 20))
            except BastionError:
                return  # the bastion has read it, and somebody wrote another under its name

    def cancel(self, user: str, job: str) -> None:
        """Ask for the end of a job."""
        laws, known = self._scene.laws, job in self._scene.acknowledged
        self._scene.trace.seen["cancel"] += 1
        laws.asked.add(job)
        request = f"{self._dice.getrandbits(128):032x}"
        if known:
            laws.cancels.add(f"{user}/{request}")
        self.send(user, Cancel(job=job), request)
        if known:
            laws.cancelled.add(job)

    def _check(self, spec: JobSpec) -> None:
        """What `launch` checks before it writes; whatever it finds, this user submits."""
        try:
            sending.check(spec, sending.submit_context(self.bucket, parse(self._scene.config)))
        except BastionError:
            self._scene.trace.seen["not checked"] += 1

    def _look(self) -> None:
        """`launch ls`, a few times: no job whose submission was acknowledged before may be absent."""
        scene, dice = self._scene, self._dice
        reader = BastionReader(self.bucket, SimClock(scene.kernel), SimTasks(scene.kernel, self._life))
        due: set[str] = set()
        for _ in range(dice.choice([1, 3])):
            thrifty = dice.random() < 0.3  # then what it shows of the inbox may be as old as the look before
            due, now = due if thrifty else set(scene.acknowledged), set(scene.acknowledged)
            try:
                view = reader.look(thrifty=thrifty)
            except BastionError:
                continue
            finally:
                scene.kernel.sleep(dice.uniform(0, 20))
            scene.trace.seen["look"] += 1
            shown = view.state.jobs.keys() | {job.id for job in view.unread}
            if not view.gaps and not scene.laws.rollback.lost and (absent := sorted(due - shown)):
                raise Broken(f"a reader does not see {', '.join(absent)}, whose submission was acknowledged")
            due = now

    def _controls(self, spec: JobSpec, job: str) -> None:
        """Ask for something else of the job than its end."""
        dice, scene = self._dice, self._scene
        who = dice.choice([spec.user, "root"])
        for _ in range(dice.choice([1, 1, 2, 3])):
            scene.kernel.sleep(dice.choice([0.0, dice.uniform(0, 15), dice.uniform(0, 60)]))
            what = dice.choice(["hold", "top", "update", "renew", "renew"])
            scene.trace.seen[what] += 1
            self.ask(who, self._control(what, job))
            if what == "hold":
                scene.kernel.sleep(dice.choice([0.0, dice.uniform(0, 15), dice.uniform(0, 100)]))
                self.ask(who, Release(job=job))
                self._insist(who, job)

    def _insist(self, who: str, job: str) -> None:
        """Release again what is still held: a listing that was taken while both were written may show the later one first."""
        scene = self._scene
        jobs = scene.laws.truth.jobs
        while job not in jobs or (jobs[job].held and not jobs[job].ended):
            scene.kernel.sleep(30)
            self.ask(who, Release(job=job))

    def _control(self, what: str, job: str) -> Request:
        dice: Any = self._dice  # for the fields that are left out, or None, or a value
        if what == "hold":
            return Hold(job=job)
        if what == "top":
            return Top(job=job)
        if what == "renew":
            scripts.know(self._scene, command := f"{job} {dice.getrandbits(32)}", dice)
            return Update(job=job, changes=Changes(command=command, bundle=BundleRef(), max_tries=dice.choice([2, 3])))
        changes = Changes(
            priority=dice.choice([1, 5]),
            max_tries=dice.choice([2, 3]),
            grace_s=dice.choice([5.0, 40.0]),
            after=dice.choice([UNSET, UNSET, UNSET, [], self._after()]),
            begin=dice.choice([UNSET, UNSET, UNSET, None, self._soon(0, 60)]),
            deadline=dice.choice([UNSET, UNSET, UNSET, None, self._soon(60, 300)]),
            max_parallel=dice.choice([UNSET, 1, 2]),
        )
        return Update(job=job, changes=changes)

    def _spec(self) -> JobSpec:
        dice = self._dice
        user = dice.choice(list(PEOPLE))
        gang = dice.random() < 0.3
        hangs = dice.random() < 0.1
        lags = gang and self._choices.random() < 0.3
        return new_jobspec(
            name=f"j{self._number}",
            user=user,
            project=PEOPLE[user],
            command=f"{scripts.HANGS if hangs else scripts.LAGS if lags else 'work'} {self._number}",
            resources={"v4": dice.choice([1, 2]) if gang else dice.choice([1, 2, 3, 5])},
            replicas=2 if gang else 1,
            alternatives=self._alternatives(),
            count=dice.choice([1, 1, 3, 4]),
            max_tries=dice.choice([1, 2, 3]),
            retry_interval_s=dice.choice([0.0, 15.0]),
            time_limit_s=dice.choice([10.0, 60.0]) if hangs else None,
            finish_timeout_s=self._choices.choice([20.0, 60.0]) if lags else FINISH_TIMEOUT_S,
            grace_s=dice.choice([5.0, 20.0]),
            priority=dice.choice([3, 5]),
            after=self._after() if dice.random() < 0.2 else [],
            begin=self._soon(-60, 60) if dice.random() < 0.15 else None,
            deadline=self._soon(90, 300) if dice.random() < 0.15 else None,
            max_parallel=dice.choice([None, 1, 2]),
            job_class=dice.choice(["standard", "standard", "scavenger"]),
            max_tier=dice.choice([0, 1, 1]) if self._scene.plan.walls else 0,
        )

    def _alternatives(self) -> list[Alternative]:
        """Shapes that would do as well, some larger than the pool."""
        dice = self._choices
        rows = dice.choice([(), (), (("v5p", 1),), (("v5p", 3), ("v5p", 1)), (("v5p", 2), ("v4", 4), ("v6e", 1))])
        return [
            Alternative(resources={kind: n + 9 * (dice.random() < 0.1)}, replicas=dice.choice([1, 1, 2]))
            for kind, n in rows
        ]

    def _after(self) -> list[str]:
        """Ends to wait for, of jobs that are there, or are on their way."""
        dice, specs = self._dice, self._scene.specs
        some = dice.sample(sorted(specs), min(len(specs), dice.choice([1, 1, 2])))
        tasks = (f"{job}[{dice.randrange(count)}]" if (count := specs[job].count) > 1 else job for job in some)
        return [f"{dice.choice(['ok', 'ok', 'any', 'fail'])}:{word}" for word in tasks]

    def _soon(self, least_s: float, most_s: float) -> datetime | None:
        """A moment as the bastion counts; None before its first word."""
        now = self._scene.laws.truth.now
        return now + timedelta(seconds=self._dice.uniform(least_s, most_s)) if now else None
