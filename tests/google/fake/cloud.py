"""The world behind all services: what there is, who asks, what a call is."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol
from uuid import UUID

from tests.google.fake.clock import Clock
from tests.google.fake.discovery import Method
from tests.google.fake.faults import Faults
from tests.google.fake.rates import Rates
from tests.google.fake.refusals import Refusal
from tests.google.fake.rows import Row, Rows

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Guest:
    """What a machine is to run: the name of its resource, its number in it, its address, and what its metadata say."""

    resource: str
    number: int
    address: str
    zone: str
    hostname: str
    id: str
    attributes: Mapping[str, str]
    account: str
    scopes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """One word for it, new for each of its resource's hosts."""
        return f"{self.resource.rpartition('/')[2]}-{self.number}"


class Machines(Protocol):
    """Who runs machines."""

    def start(self, guest: Guest) -> None:
        """Boot it. Nothing is waited for."""

    def shut_down(self, resource: str) -> None:
        """Press the power button of all hosts of a resource: their systems are to end. Nothing is waited for."""

    def runs(self, resource: str) -> bool:
        """One of its hosts is switched on."""

    def stop(self, resource: str, *, erase: bool) -> None:
        """Cut the power of all hosts of a resource; with `erase` their disks go, too."""

    def notice(self, resource: str, key: str, value: str) -> None:
        """Change what the metadata of its hosts say: `preempted`, `maintenance-event`."""

    def attributes(self, resource: str, attributes: Mapping[str, str]) -> None:
        """Set the metadata of its hosts anew."""

    def output(self, resource: str) -> str:
        """All that the serial port of its first host has said."""


class NoMachines:
    """Nothing runs: the API's answers are all."""

    def start(self, guest: Guest) -> None: ...

    def shut_down(self, resource: str) -> None: ...

    def runs(self, resource: str) -> bool:
        return False

    def stop(self, resource: str, *, erase: bool) -> None: ...

    def notice(self, resource: str, key: str, value: str) -> None: ...

    def attributes(self, resource: str, attributes: Mapping[str, str]) -> None: ...

    def output(self, resource: str) -> str:
        """What every VM says first."""
        return "Booting from Hard Disk 0...\n"


@dataclass(slots=True)
class Delays:
    """How long things take, in seconds of the fake's clock."""

    accept: float = 2.0
    wait: float = 5.0
    provision: float = 10.0
    boot: float = 60.0
    delete: float = 20.0
    suspend: float = 30.0
    operation: float = 3.0
    build: float = 90.0
    notice: float = 30.0
    shutdown: float = 90.0


@dataclass(slots=True)
class Cloud:
    """All state of the fake."""

    clock: Clock
    faults: Faults
    rates: Rates
    rows: Rows
    random: Random
    machines: Machines
    account: str = "ada@example.com"
    delays: Delays = field(default_factory=Delays)
    tokens: dict[str, str] = field(default_factory=dict)
    policies: dict[str, Row] = field(default_factory=dict)
    used: set[tuple[str, str]] = field(default_factory=set)
    answered: dict[tuple[str, str, str], tuple[float, Answer]] = field(default_factory=dict)
    addresses: int = 0
    base: str = ""

    def new_id(self) -> str:
        """A number that Google gives to a resource."""
        return str(self.random.randrange(10**17, 9 * 10**18))

    def new_uuid(self) -> str:
        """A random one."""
        return str(UUID(int=self.random.getrandbits(128), version=4))

    def new_address(self) -> str:
        """An internal address that nobody had before."""
        self.addresses += 1
        return f"10.{128 + self.addresses // 62_500}.{self.addresses // 250 % 250}.{self.addresses % 250 + 2}"

    def boot(self, guests: Iterable[Guest]) -> None:
        """Start machines."""
        for guest in guests:
            self.machines.start(guest)


@dataclass(frozen=True, slots=True)
class Call:
    """One request that fits its method's schema."""

    cloud: Cloud
    method: Method
    parameters: Mapping[str, Any]
    body: Answer
    account: str

    def text(self, name: str, otherwise: str = "") -> str:
        """A parameter that is a string."""
        return str(self.parameters.get(name, otherwise))

    @property
    def project(self) -> str:
        """Of which project it speaks."""
        if "project" in self.parameters:
            return self.text("project")
        name = self.text("parent") or self.text("name") or self.text("resource")
        return name.split("/")[1] if name.startswith("projects/") else self.text("projectId", "-")


Handler = Callable[[Call], Answer]
ANSWERS: dict[str, Handler] = {}


def answers(*methods: str) -> Callable[[Handler], Handler]:
    """A function that answers these methods."""

    def kept(handler: Handler) -> Handler:
        for method in methods:
            assert method not in ANSWERS, f"{method} is answered twice"
            ANSWERS[method] = handler
        return handler

    return kept


def page(call: Call, items: list[Any], word: str, size: str = "pageSize") -> Answer:
    """One page of a listing: at most as many as are asked for, and the token of the next."""
    most = int(call.parameters.get(size) or 500)
    token = call.text("pageToken")
    if token and not token.startswith("p"):
        raise Refusal(400, f"Invalid value for pageToken: {token!r}", reason="invalid")
    begin = int(token[1:] or 0)
    answer: Answer = {word: items[begin : begin + most]} if items[begin:] else {}
    return answer | ({"nextPageToken": f"p{begin + most}"} if len(items) > begin + most else {})


def fingerprint(value: object) -> str:
    """What changes with a value, as base64."""
    return base64.b64encode(hashlib.sha256(repr(value).encode()).digest()[:9]).decode()
