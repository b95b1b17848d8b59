"""Users of a scenario: each command is a client process of its own, which may fall and be given again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bastion.launcher.submit import sending
from bastion.model import layout
from bastion.model.errors import ObjectNotFound
from bastion.model.interfaces import Bucket
from bastion.model.job.spec import new_jobspec
from bastion.model.layout import job_id
from bastion.model.settings.config import parse
from bastion.model.stored.requests import Cancel, Request, Submit
from tests.simulation.crashes.machines import AGAIN_S, Act, Programs
from tests.simulation.crashes.stage import CONFIG, Stage
from tests.simulation.crashes.taps import Actor, Fate
from tests.simulation.parts.kernel import Event, Life

Command = Callable[[Bucket], object]
PLAIN = Act()


class GaveUp(Exception):
    """Users say nothing more: a command fell, and nobody gave it again; or the story is to end here."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a story ends before its end: at the command of this number, from 0; `given`: right after it, not before."""

    command: int
    given: bool


class Client:
    """One run of one command."""

    def __init__(self, stage: Stage, name: str, command: Command) -> None:
        self.ended, self.fate, self.life = Event(stage.kernel), None, Life()
        self.actor = Actor(name, (Fate.KILLED, Fate.LOST), self._fall)
        stage.kernel.spawn(self.life, lambda: self._run(command, stage.bucket(self.actor)))

    fate: Fate | None

    def _run(self, command: Command, bucket: Bucket) -> None:
        command(bucket)
        self.ended.set()

    def _fall(self, fate: Fate) -> None:
        self.fate = fate
        self.life.end()
        self.ended.set()


class Users:
    """All of them. They do one thing after the other. `cut`: to end there; afterwards: where it ended."""

    def __init__(self, stage: Stage, cut: Cut | None) -> None:
        self.cut = cut
        self.fell = False
        self._stage, self._given, self._requests = stage, 0, 0
        self._programs = Programs(stage)

    def command(self, name: str, command: Command) -> None:
        """Give a command until it has run to its end. Raises `GaveUp`."""
        number, self._given = self._given, self._given + 1
        self._end_at(Cut(number, False))
        changed = False
        while True:
            client = Client(self._stage, f"client {number} ({name})", command)
            client.ended.wait()
            if client.fate is None:
                break
            self.fell = True
            changed |= client.actor.changed
            if client.fate is Fate.LOST:
                self.cut = Cut(number, changed)
                raise GaveUp
            self._stage.kernel.sleep(AGAIN_S)
        self._end_at(Cut(number, True))

    def submit(self, name: str, act: Act = PLAIN, *, user: str = "ann", v4: int = 1, **fields: object) -> str:
        """Submit a job as `launch` does. Its id."""
        command = self.does(f"run {name}", act)
        project = {"ann": "red", "bob": "blue"}.get(user, "red")
        fields = {"grace_s": 10.0, "resources": {"v4": v4}} | fields
        spec = new_jobspec(name=name, user=user, project=project, command=command, **fields)
        request = self._request()
        job = job_id(name, request)
        self._stage.specs[job] = spec

        def run(bucket: Bucket) -> None:
            sending.check(spec, sending.submit_context(bucket, parse(CONFIG)))
            sending.send(bucket, user=user, request_id=request, request=Submit(spec=spec))

        self.command(f"submit {name}", run)
        return job

    def does(self, command: str, act: Act) -> str:
        """Machines know this command."""
        self._stage.scripts[command] = self._programs.script(command, act)
        return command

    def ask(self, request: Request, user: str = "ann") -> None:
        """Send a request."""
        name = self._request()
        if isinstance(request, Cancel):
            self._stage.laws.asked.add(request.job)

        def run(bucket: Bucket) -> None:
            sending.send(bucket, user=user, request_id=name, request=request)

        self.command(type(request).__name__.lower(), run)

    def write_unchecked(self, user: str, data: bytes) -> None:
        """Put these bytes into the inbox, as a program of somebody else's might."""
        key = layout.request(user, self._request())
        self._stage.laws.inputs.garbage.add(layout.request_name(key))
        self.command("a stranger", lambda bucket: bucket.create(key, data))

    def put_file(self, key: str, text: bytes, *, good: bool = True) -> None:
        """Put a file of the admin's in place, by compare-and-swap; what is there already is not put again."""
        if good:
            self._stage.laws.inputs.good.add(text.decode())

        def run(bucket: Bucket) -> None:
            try:
                found = bucket.read(key)
            except ObjectNotFound:
                bucket.create(key, text)
                return
            if found.data != text:
                bucket.replace(key, text, found.version)

        self.command(f"put {key}", run)

    def _request(self) -> str:
        self._requests += 1
        return f"{self._requests:08d}"

    def _end_at(self, here: Cut) -> None:
        if self.cut == here:
            raise GaveUp
