"""The fake as a test holds it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from types import MappingProxyType, TracebackType
from typing import Any, Self

from tests.google.fake import events, iam, oauth, projects, services  # noqa: F401  they answer
from tests.google.fake.clock import BEGIN, Clock
from tests.google.fake.cloud import Cloud, Machines, NoMachines
from tests.google.fake.compute import bulk, lists  # noqa: F401  they answer
from tests.google.fake.desk import Asked, Desk
from tests.google.fake.discovery import VERSIONS, document
from tests.google.fake.faults import Faults
from tests.google.fake.rates import Rates
from tests.google.fake.rows import Row, Rows
from tests.google.fake.server import Server
from tests.google.fake.storage import artifacts, buckets, builds  # noqa: F401  they answer
from tests.google.fake.tpu import queue as tpu_queue
from tests.google.support.machines import Room

PROJECT = "test-project"


class Fake:
    """A Google Cloud on the loopback, from `with` to its end.

    `speed`: how fast its clock follows the real one; 0: it stands still. `seed`: of the ids it gives. `machines`: where
    machines run; those of a `Room` are told the addresses of the fake, and in `machine_environ` what else they are to know.
    """

    def __init__(
        self,
        *,
        speed: float = 0.0,
        seed: int = 0,
        start: float = BEGIN,
        machines: Room | Machines | None = None,
        machine_environ: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.clock = Clock(start)
        self.faults = Faults()
        self.rates = Rates()
        self._speed, self._machine_environ = speed, machine_environ
        self._room = machines if isinstance(machines, Room) else None
        self.cloud = Cloud(
            self.clock, self.faults, self.rates, Rows(self.clock), Random(seed), machines or NoMachines()
        )
        self.desk = Desk(self.cloud)
        self.faults.restocked = lambda: tpu_queue.restocked(self.cloud)

    def __enter__(self) -> Self:
        self._server = Server(self.desk)
        self.url = self.cloud.base = f"http://127.0.0.1:{self._server.port}"
        if self._room:
            self._room.open(lambda account: {**self.environment(account), **self._machine_environ}, self.token)
        if self._speed:
            self.clock.follow(self._speed)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clock.stop()
        try:
            if self._room:
                self._room.close()
        finally:
            self._server.close()
        if kind is None:
            assert not self.desk.crashes, self.desk.crashes[0]
            assert not self.mistakes, f"requests that Google's schemas do not know: {self.mistakes}"

    @property
    def machines(self) -> Room:
        """The machines that run."""
        assert self._room, "this fake has no machines: Fake(machines=Room(tmp_path))"
        return self._room

    def endpoint(self, service: str, account: str = "") -> str:
        """The base URL of a service, as gcloud's overrides have it: with the service's own path."""
        return f"{self.url}/{f'as/{account}/' if account else ''}{service}/{document(service)['servicePath']}"

    def environment(self, account: str = "") -> dict[str, str]:
        """The variables that lead to the fake; without credentials, requests are those of `account`."""
        return {f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name.upper()}": self.endpoint(name, account) for name in VERSIONS}

    def calls(self, begin: str = "") -> list[Asked]:
        """All requests whose method begins so, in order, with the status of their answer (0: it was cut)."""
        with self.clock.lock:
            return [one for one in self.desk.asked if one.method.startswith(begin)]

    @property
    def mistakes(self) -> list[str]:
        """Requests that Google would not understand. A test that makes some on purpose clears this."""
        return self.desk.mistakes

    def rows(self, kind: str, *, project: str = PROJECT) -> dict[str, Row]:
        """What there is of a kind (`nodes`, `queuedResources`, `instances`, `disks`), by its full name."""
        with self.clock.lock:
            return dict(self.cloud.rows.matching(rf"projects/{project}/(?:.+/)?{kind}"))

    def preempt(self, name: str, *, notice_s: float = 0.0) -> None:
        """Google takes a node or an instance back: by its full name, or the last part of it."""
        with self.clock.lock:
            events.preempt(self.cloud, self._full(name), notice_s)

    def maintain(self, name: str, in_s: float = 3600.0) -> None:
        """Host maintenance is announced for a node or an instance, and comes."""
        with self.clock.lock:
            events.maintain(self.cloud, self._full(name), in_s)

    def sicken(self, name: str, health: str = "UNHEALTHY_TENSORFLOW") -> None:
        """A node says that it is not well."""
        with self.clock.lock:
            self.cloud.rows.change(
                self._full(name), health=health, healthDescription="The TPU was found to be unhealthy."
            )

    def storm(self, random: Random, gap_s: float) -> None:
        """Every so many seconds on average, a machine that runs is taken back, maintained or lost."""
        with self.clock.lock:
            events.storm(self.cloud, random, gap_s)

    def vanish(self, name: str) -> None:
        """A node, a queued resource or an instance is gone, without a trace."""
        with self.clock.lock:
            events.vanish(self.cloud, self._full(name))

    def push(self, image: str) -> str:
        """Put an image into Artifact Registry: `us-docker.pkg.dev/project/repository/name:tag`. Its digest."""
        with self.clock.lock:
            return str(builds.pushed(self.cloud, image, self.cloud.new_id())["digest"])

    def token(self, account: str) -> str:
        """An access token of an account."""
        with self.clock.lock:
            return oauth.new_token(self.cloud, account)

    def login(self, file: Path, account: str = "") -> dict[str, str]:
        """Write a key of an account to a file, and answer the variable that leads there: application default credentials."""
        file.write_text(json.dumps(oauth.key_of(account or self.cloud.account, f"{self.url}/oauth2/token", PROJECT)))
        return {"GOOGLE_APPLICATION_CREDENTIALS": str(file)}

    def _full(self, name: str) -> str:
        found = [full for full, _ in self.cloud.rows.matching(r".*") if full == name or full.endswith(f"/{name}")]
        wanted = [full for full in found if full.split("/")[-2] in ("nodes", "queuedResources", "instances")]
        assert wanted, f"there is no {name!r}"
        return wanted[0]

    def put(self, name: str, /, **row: Any) -> None:
        """Set something up as if it had been made before: a network, an image, a reservation."""
        with self.clock.lock:
            self.cloud.rows.put(name, row)
