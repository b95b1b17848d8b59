"""A whole bastion on the fake, as its own account and no more: its loop, a runner of Google's, and our two tools beside it."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import google.auth.credentials
from google.auth.exceptions import RefreshError

from bastion.cli.bastion import tool as bastion
from bastion.cli.launch import tool as launch
from bastion.cli.terminal import main
from bastion.model.layout import CONFIG
from bastion.model.settings.config import Config, render
from bastion.model.settings.tables import GoogleSettings
from bastion.platform.local_paths import mark
from bastion.platform.system import RandomIds
from bastion.runners.google.api.client import GoogleApi
from bastion.runners.google.hosting import setup_steps
from bastion.runners.google.hosting.bastion_vm import BastionVm, workers
from bastion.service import loop
from bastion.service.maintenance import ServiceContext
from bastion.stores.opening import PrefixedBucket, open_bucket
from tests.google.fake import Fake
from tests.google.fake.fake import PROJECT
from tests.google.support import gces, tpus
from tests.google.support.own_vm import VM_ZONE
from tests.google.support.tpus import FakesClock
from tests.support.doors import HandTasks

TICK_S = 10.0
ZONES = {"tpu": tpus.ZONE, "gce": gces.ZONE}
HOLDS = {"tpu": {"v6e": 4096}, "gce": {"l4": 64, "h100": 64, "a100": 64}}
_RUNNERS: dict[str, Callable[..., Any]] = {"tpu": tpus.runner, "gce": gces.runner}


class City:
    """A bastion in a bucket of its own. It may do what `bastion create` granted, and what it asks is asked by its account."""

    def __init__(self, fake: Fake, runner: str, root: str = "", **google: Any) -> None:
        self.fake, self.name, self.url = fake, "demo", root or f"memory://{RandomIds().new()}"
        more = {"zones": [ZONES[runner]], "service_account": workers(self.name, PROJECT), "vm_zone": VM_ZONE, **google}
        settings = GoogleSettings(project=PROJECT, **more)
        self.host = BastionVm(
            bastion=self.name, url=self.url, buckets=[self.url.split("/")[2]], zone=VM_ZONE, google=settings,
            runners=[runner], image=f"us-central1-docker.pkg.dev/{PROJECT}/images/bastion",
        )  # fmt: skip
        self._create()
        config = Config(admins=["ada"], runners=[runner], google=settings, capacity=HOLDS[runner])
        self.bucket = PrefixedBucket(open_bucket(self.url), self.name)
        self.bucket.write(CONFIG, render(config).encode())
        clock = FakesClock(fake)
        self.runner = _RUNNERS[runner](
            fake, settings, mark(self.name, self.bucket.url), login=lambda: Login(fake, self.host.account), limit_s=0.5
        )
        self.runner.context = replace(self.runner.context, given=HOLDS[runner])
        doors = ServiceContext(
            bucket=self.bucket, runners={runner: self.runner}, clock=clock, ids=RandomIds(), tasks=HandTasks(),
            snapshot=lambda: None,
        )  # fmt: skip
        me = loop.ThisBastion(name=self.name, host="vm", boot="boot", pid=1, alive=lambda pid: True)
        self.bastion = loop.begin(doors, me, TICK_S)
        self.ticks(1)

    def _create(self) -> None:
        """The accounts and their rights, as an owner makes them."""
        owner = GoogleApi(PROJECT, FakesClock(self.fake), RandomIds(), limit_s=3.0)
        for step in setup_steps.steps(self.host):
            step.ensure(owner)
        owner.close()
        self.begun = len(self.fake.calls())
        self.fake.clock.advance(120)

    def ticks(self, number: int, every_s: float = TICK_S) -> None:
        """Let time pass; the bastion ticks while its VM runs."""
        for _ in range(number):
            self.fake.clock.advance(every_s)
            vm = self.fake.rows("instances").get(f"projects/{PROJECT}/zones/{VM_ZONE}/instances/{self.host.vm}", {})
            if vm.get("status") == "RUNNING":
                loop.turn(self.bastion)

    def until(self, true: Callable[[], bool]) -> None:
        """Tick until it holds, for half an hour of the fake's at most."""
        for _ in range(180):
            if true():
                return
            self.ticks(1)
        raise AssertionError((self.problems(), dict(self.bastion.journal.state.pending)))

    def tool(self, tool: Any, *words: str) -> tuple[int, str]:
        """One of our tools, in this process: its exit code, and all that it prints."""
        said = io.StringIO()
        environ = {"HOME": "/nowhere", "BASTION_NAME": self.name, "BASTION_BUCKET": self.url, "BASTION_USER": "ada"}
        return main.run(tool, words, environ=environ, out=said, err=said), said.getvalue()

    def launch(self, *flags: str, name: str = "train") -> tuple[int, str]:
        """`launch`: what its user reads."""
        return self.tool(launch.TOOL, f"--name={name}", "--bundler_type=none", *flags, "--", "true")

    def beside(self, tool: Any, *words: str) -> tuple[int, str]:
        """A command that waits for the bastion, while that goes on: as `tool`."""
        with ThreadPoolExecutor(1) as pool:
            said = pool.submit(self.tool, tool, *words)
            while not said.done():
                self.ticks(1)
                wait([said], timeout=0.02)
            return said.result()

    def changes(self) -> list[str]:
        """The methods that changed something since `bastion create`, as they were called."""
        return [call.method for call in self.fake.calls()[self.begun :] if not is_look(call.method)]

    def why(self, name: str = "train") -> str:
        """What `launch why` says to the job's user."""
        code, said = self.tool(launch.TOOL, "why", name)
        assert code == 0, said
        return said

    def problems(self) -> list[str]:
        """What `bastion status` says is wrong."""
        code, said = self.tool(bastion.TOOL, "status", "--json")
        assert code == 0, said
        return list(json.loads(said)["problems"])

    def doctor(self) -> str:
        """What `bastion doctor` prints."""
        return self.tool(bastion.TOOL, "doctor")[1]


class Login(google.auth.credentials.Credentials):
    """Credentials of an account: tokens of the fake's, until they lapse."""

    def __init__(self, fake: Fake, account: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.service_account_email, self._fake = account, fake

    def refresh(self, request: Any) -> None:
        """A new token."""
        if self._fake.faults.expired:
            raise RefreshError("Token has been expired or revoked.")  # type: ignore[no-untyped-call]
        self.token = self._fake.token(self.service_account_email)


def is_look(method: str) -> bool:
    return method.rpartition(".")[2] in ("get", "list", "aggregatedList", "wait", "batchGet", "getIamPolicy")


@contextmanager
def city(monkeypatch: Any, runner: str, root: str = "", **google: Any) -> Iterator[City]:
    with Fake(start=time.time()) as fake:
        for name, value in fake.environment().items():
            monkeypatch.setenv(name, value)
        here = City(fake, runner, root, **google)
        try:
            yield here
        finally:
            here.runner.context.google.close()
