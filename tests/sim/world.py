"""A world from one seed: bastions that crash and sleep, a fleet that is late and lies, users who change their minds.

The bastion, its journal, its reconciling and the worker are the real code; the bucket, the clock, the machines and
the processes are simulated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from bastion import layout
from bastion.changes import Changes
from bastion.codec import encode
from bastion.errors import BucketError
from bastion.once import create_once
from bastion.ports import AttemptKey, Machine
from bastion.requests import Cancel, Hold, Pause, Release, Request, Resume, Submit, Top, Update, job_id
from bastion.spec import BundleRef, JobSpec, new_jobspec
from tests.sim.broken import Broken
from tests.sim.fleet import SimHost, SimProcess, SimRunner
from tests.sim.kernel import Kernel, Life, SimIds
from tests.sim.laws import Laws
from tests.sim.pace import PACE, POOL
from tests.sim.program import Program
from tests.sim.store import SimBucket, Store, Weather

CONFIG = b'poll = 5\nreclaim_delay = 20\nadmins = ["root"]\n'
QUOTA = b"""
[toml-schema]
version = "1"
[total_resources]
v4 = 6
[project_membership]
red = ["ann"]
blue = ["bob"]
[project_resources.red]
v4 = 0.5
[project_resources.blue]
v4 = 0.5
"""


class World:
    """Runs one seed: a storm for `storm_s` seconds, then calm until all has ended."""

    def __init__(self, seed: int, jobs: int = 8, storm_s: float = 1200.0) -> None:
        self.kernel = Kernel(seed)
        self.store = Store(self.kernel)
        self.laws = Laws(POOL)
        self.store.watchers.append(lambda verb, key, data: self.laws.written(verb, key, data, self.kernel.now))
        self.storm_s, self.blind, self.seen = storm_s, False, Counter[str]()
        self.hosts: dict[str, SimHost] = {}
        self.scripts: dict[str, Callable[[SimProcess], int]] = {}
        self.buckets: dict[str, SimBucket] = {}
        self.programs: list[Program] = []
        self.acknowledged: set[str] = set()
        self.specs: dict[str, JobSpec] = {}
        rng = self.kernel.random
        harsh = rng.choice([0.2, 1.0, 2.0])
        self._storm = Weather(fails=0.015 * harsh, lost=0.015 * harsh, late=0.008 * harsh, slow=0.004 * harsh)
        self._wanted = rng.choice([1, 2, 3])
        self.store.put("write", layout.CONFIG, CONFIG)
        self.store.put("write", layout.QUOTA, QUOTA)
        self._jobs = jobs

    @property
    def stormy(self) -> bool:
        return self.kernel.now < self.storm_s

    def weather(self) -> Weather:
        return self._storm if self.stormy else Weather()

    def run(self) -> None:
        """To the end. Raises `Broken`."""
        try:
            self._run()
        finally:
            for program in self.programs:
                program.hush()

    def _run(self) -> None:
        nature = Life()
        for number in range(self._jobs):
            self.kernel.spawn(Life(), lambda n=number: self._user(n))  # type: ignore[misc]
        for chaos in (self._bastions, self._crashes, self._machines, self._blindness, self._pauses):
            self.kernel.spawn(nature, chaos)
        if not self.kernel.run(self._over, self.storm_s + 12_000):
            raise Broken(f"never ends: {self._left()}")

    def _over(self) -> bool:
        return not self.stormy and not self._left()

    def _left(self) -> list[str]:
        state = self.laws.truth
        jobs = state.jobs
        left = [f"{job} was lost" for job in self.acknowledged if job not in jobs]
        left += [f"{job.id} is {job.state}" for job in jobs.values() if not job.ended]
        left += [f"{job} was not cancelled" for job in self.laws.cancelled & jobs.keys() if not jobs[job].ended]
        left += [f"machine {name}" for name, host in self.hosts.items() if host.there]
        return left + [key for key in self.store.objects if key.startswith(layout.INBOX)]

    # Users

    def _user(self, number: int) -> None:
        rng, ids = self.kernel.random, SimIds(self.kernel)
        bucket = SimBucket(self.store, self.weather)
        self.kernel.sleep(rng.uniform(0, 0.7 * self.storm_s))
        request, spec = ids.new(), self._spec(number)
        job = job_id(spec.name, request)
        self._knows(str(spec.command))
        self.specs[job] = spec
        early = rng.random() < 0.1
        if early:
            self._cancel(bucket, spec.user, job)
        self._send(bucket, spec.user, request, Submit(spec=spec))
        self.acknowledged.add(job)
        if rng.random() < 0.5:
            self._controls(bucket, spec, job)
        if not early and rng.random() < 0.3:
            self.kernel.sleep(rng.choice([0.0, rng.uniform(0, 15), rng.uniform(0, 600)]))
            self._cancel(bucket, spec.user, job)

    def _knows(self, command: str) -> None:
        """Machines know what this command does."""
        self.scripts[command] = self._script(command, self.kernel.random.choice([5.0, 60.0, 300.0]))

    def _controls(self, bucket: SimBucket, spec: JobSpec, job: str) -> None:
        """Ask for something else of the job than its end."""
        rng = self.kernel.random
        who = rng.choice([spec.user, "root"])
        for _ in range(rng.choice([1, 1, 2, 3])):
            self.kernel.sleep(rng.choice([0.0, rng.uniform(0, 15), rng.uniform(0, 300)]))
            what = rng.choice(["hold", "top", "update", "renew", "renew"])
            self.seen[what] += 1
            self._ask(bucket, who, self._control(what, job))
            if what == "hold":
                self.kernel.sleep(rng.choice([0.0, rng.uniform(0, 15), rng.uniform(0, 600)]))
                self._ask(bucket, who, Release(job=job))

    def _control(self, what: str, job: str) -> Request:
        rng = self.kernel.random
        if what == "hold":
            return Hold(job=job)
        if what == "top":
            return Top(job=job)
        changes = Changes(priority=rng.choice([1, 5]), max_tries=rng.choice([2, 3]), grace_s=rng.choice([5.0, 40.0]))
        if what == "renew":
            self._knows(command := f"{job} {rng.getrandbits(32)}")
            changes = Changes(command=command, bundle=BundleRef(), max_tries=rng.choice([2, 3]))
        return Update(job=job, changes=changes)

    def _ask(self, bucket: SimBucket, user: str, body: Request) -> None:
        self._send(bucket, user, SimIds(self.kernel).new(), body)

    def _spec(self, number: int) -> JobSpec:
        rng = self.kernel.random
        user, project = rng.choice([("ann", "red"), ("bob", "blue")])
        gang = rng.random() < 0.25
        return new_jobspec(
            name=f"j{number}",
            user=user,
            project=project,
            command=f"work {number}",
            resources={"v4": rng.choice([1, 2]) if gang else rng.choice([1, 2, 3, 5])},
            replicas=2 if gang else 1,
            count=rng.choice([1, 1, 1, 3]),
            max_tries=rng.choice([1, 2, 3]),
            retry_interval_s=rng.choice([0.0, 30.0]),
            grace_s=20.0,
            priority=rng.choice([3, 5]),
        )

    def _cancel(self, bucket: SimBucket, user: str, job: str) -> None:
        self.seen["cancel"] += 1
        self.laws.asked.add(job)
        if job in self.acknowledged:
            self.laws.cancelled.add(job)
        request = SimIds(self.kernel).new()
        if job in self.acknowledged:
            self.laws.cancels.add(f"{user}/{request}")
        self._send(bucket, user, request, Cancel(job=job))

    def _send(self, bucket: SimBucket, user: str, request: str, body: Request) -> None:
        while True:
            try:
                create_once(bucket, layout.request(user, request), encode(body))
                return
            except BucketError:
                self.kernel.sleep(self.kernel.random.uniform(0, 20))

    # Machines and processes

    def _script(self, command: str, seconds: float) -> Callable[[SimProcess], int]:
        def script(process: SimProcess) -> int:
            rng = self.kernel.random
            env = process.env
            key = AttemptKey(env["BASTION_JOB"], int(env["BASTION_TASK"]), int(env["BASTION_ATTEMPT"]))
            worker = int(env["BASTION_WORKER_INDEX"])
            self.laws.control.process(key, command)
            self._started(key, worker, process)
            process.traps = rng.random() < 0.6
            process.print("begin\n")
            code = 0 if rng.random() < 0.8 else 1
            if process.sleep(seconds * rng.uniform(0.5, 1.5)):
                process.forget_signal()
                process.sleep(rng.uniform(0, 30))
                code = 0 if rng.random() < 0.2 else 143
            self.laws.exited(key, worker, code, killed=code == 143)
            process.print("done\n")
            return code

        return script

    def _started(self, key: AttemptKey, worker: int, process: SimProcess) -> None:
        live = {
            (host.machine.key, host.machine.worker): host
            for host in self.hosts.values()
            if host.process is not None and host.process is not process and host.process.life.alive
        }
        self.seen["process"] += 1
        self.laws.starts(key, worker, live)
        self.laws.uses({place: self.specs[place[0].job].resources for place in [*live, (key, worker)]})

    def creation_delay(self) -> float:
        rng = self.kernel.random
        if not self.stormy:
            return rng.uniform(0, 5)
        return rng.choice([0.0, rng.uniform(0, 60), rng.uniform(0, 720)])

    def bucket_of(self, machine: Machine) -> SimBucket:
        bucket = self.buckets.setdefault(machine.id, SimBucket(self.store, self.weather))
        rng = self.kernel.random
        if self.stormy and rng.random() < 0.15:
            cut = self.kernel.now + rng.uniform(0, 300)
            self.kernel.spawn(Life(), lambda: self._cut(bucket), cut - self.kernel.now)
        return bucket

    def _cut(self, bucket: SimBucket) -> None:
        self.seen["cut"] += 1
        rng = self.kernel.random
        bucket.cut_until = min(self.storm_s, self.kernel.now + rng.choice([60.0, 300.0, 3000.0]))

    # Chaos

    def _bastions(self) -> None:
        rng = self.kernel.random
        while True:
            alive = sum(program.life.alive for program in self.programs)
            if alive < (self._wanted if self.stormy else 1):
                self.programs.append(Program(self, len(self.programs)))
            self.kernel.sleep(rng.uniform(1, 60))

    def _crashes(self) -> None:
        rng = self.kernel.random
        while self.stormy:
            self.kernel.sleep(rng.expovariate(1 / 60))
            alive = [program for program in self.programs if program.life.alive]
            if not alive or not self.stormy:
                continue
            victim = rng.choice(alive)
            if rng.random() < 0.4:
                self.seen["crash"] += 1
                victim.life.end()
            else:
                self.seen["pause"] += 1
                pause = rng.choice([rng.uniform(5, 40), rng.uniform(20, 200), rng.uniform(60, 3600)])
                victim.life.paused_until = min(self.kernel.now + pause, self.storm_s + 600)

    def _machines(self) -> None:
        rng = self.kernel.random
        while self.stormy:
            self.kernel.sleep(rng.expovariate(1 / 120))
            there = [host for host in self.hosts.values() if host.there]
            if there and self.stormy:
                host = rng.choice(there)
                host.kill()
                self.seen["vanish"] += 1
                if rng.random() < 0.4:
                    self.seen["reboot"] += 1
                    self._reboot(host)

    def _reboot(self, host: SimHost) -> None:
        host.worker = Life()
        runner = SimRunner(self.kernel, self.bucket_of, self.scripts, self.hosts, pace=PACE)
        self.kernel.spawn(host.worker, lambda: runner.work(host))

    def _pauses(self) -> None:
        rng, bucket = self.kernel.random, SimBucket(self.store, self.weather)
        while self.stormy:
            self.kernel.sleep(rng.expovariate(1 / 600))
            if self.stormy:
                self.seen["pause all"] += 1
                self._ask(bucket, "root", Pause())
                self.kernel.sleep(rng.uniform(0, 120))
                self._ask(bucket, "root", Resume())

    def _blindness(self) -> None:
        rng = self.kernel.random
        while self.stormy:
            self.kernel.sleep(rng.expovariate(1 / 400))
            self.blind = self.stormy
            self.kernel.sleep(rng.uniform(10, 200))
            self.blind = False


def run(seed: int) -> World:
    """One seed, to the end. Raises `AssertionError` naming it."""
    world = World(seed)
    try:
        world.run()
    except Broken as broken:
        raise AssertionError(f"seed {seed} at {world.kernel.now:.0f} s: {broken}") from broken
    return world
