"""What goes wrong: said by a test, or drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from random import Random

Rates = Mapping[str, float]
"""How often each thing goes wrong: `fail`, `drop`, `lose`, `late` of requests, `stock_out` of creations, `hang` of deletions.

`lag` is how often a listing is up to `LAG_S` late.
"""

FAILURES = (429, 500, 502, 503, 504)
LAG_S, LATE_S = 60.0, 600.0


@dataclass(slots=True)
class _Plan:
    """One thing that happens to the next calls of a method, so many times."""

    kind: str
    method: str
    times: float
    code: int = 503
    message: str = ""
    reason: str = ""
    after_s: float = 0.0


@dataclass(slots=True)
class Faults:
    """Declared for now and until taken back. Zones, kinds, methods and names are patterns as those of file names."""

    plans: list[_Plan] = field(default_factory=list)
    out_of_stock: dict[tuple[str, str], str] = field(default_factory=dict)
    left: dict[tuple[str, str], int] = field(default_factory=dict)
    limits: dict[tuple[str, str], float] = field(default_factory=dict)
    denied: list[tuple[str, str, str]] = field(default_factory=list)
    silent: set[str] = field(default_factory=set)
    hanging: set[str] = field(default_factory=set)
    disabled: set[str] = field(default_factory=set)
    expired: bool = False
    lag_s: float = 0.0
    random: Random | None = None
    rates: Rates = field(default_factory=dict)
    restocked: Callable[[], None] = lambda: None

    # Requests

    def fail(self, method: str, code: int = 503, *, times: float = 1, message: str = "", reason: str = "") -> None:
        """The next calls of a method are answered with an error, and have no effect."""
        self.plans.append(_Plan("fail", method, times, code, message, reason))

    def drop(self, method: str, *, times: float = 1) -> None:
        """The next calls of a method are not heard: no effect, the connection is cut."""
        self.plans.append(_Plan("drop", method, times))

    def lose_answer(self, method: str, *, times: float = 1) -> None:
        """The next calls of a method have their effect, but the connection is cut before the answer."""
        self.plans.append(_Plan("lose", method, times))

    def come_late(self, method: str, after_s: float, code: int = 503, *, times: float = 1) -> None:
        """The next calls of a method are answered with an error, and take effect some time later all the same."""
        self.plans.append(_Plan("late", method, times, code, after_s=after_s))

    def expire_credentials(self) -> None:
        """All credentials have lapsed, until `renew_credentials`."""
        self.expired = True

    def renew_credentials(self) -> None:
        """They are good again."""
        self.expired = False

    def deny(self, permission: str, *, resource: str = "*", account: str = "*") -> None:
        """Someone lacks a permission on a resource, until `allow`."""
        self.denied.append((permission, resource, account))

    def allow(self, permission: str) -> None:
        """Nobody lacks it any more."""
        self.denied = [one for one in self.denied if one[0] != permission]

    def disable(self, service: str) -> None:
        """A service is not switched on in any project: `tpu.googleapis.com`."""
        self.disabled.add(service)

    # Stock and quota

    def stock_out(self, zone: str = "*", kind: str = "*", *, fails: bool = False) -> None:
        """A zone has no more machines of a kind (`v4-*`, `a3-*`), until `restock`.

        A queued resource waits meanwhile; with `fails`, it fails. A node or an instance always fails.
        """
        self.out_of_stock[zone, kind] = "fails" if fails else "waits"

    def leave(self, zone: str, kind: str, machines: int) -> None:
        """A zone has so many more machines (slices) of a kind, and then no more, until `restock`."""
        self.left[zone, kind] = machines

    def restock(self, zone: str = "*", kind: str = "*") -> None:
        """It has some again."""
        self.out_of_stock.pop((zone, kind), None)
        self.left.pop((zone, kind), None)
        self.restocked()

    def limit(self, metric: str, most: float, *, place: str = "*") -> None:
        """The project's quota in a zone (TPU chips: `v4`, `v4-spot`, `v4-reserved`) or region (`CPUS`, `NVIDIA_H100_GPUS`)."""
        self.limits[metric, place] = most

    # Listings and deletions

    def lag_lists(self, seconds: float) -> None:
        """Listings show what was so long ago: what is new is not listed yet, what is gone still is."""
        self.lag_s = seconds

    def silence(self, place: str) -> None:
        """A zone or region does not answer listings that go over several (`unreachable`), until `unsilence`."""
        self.silent.add(place)

    def unsilence(self, place: str) -> None:
        """It does again."""
        self.silent.discard(place)

    def hang_deletion(self, name: str) -> None:
        """Deletions of resources with such a name do not end, until `let_go`."""
        self.hanging.add(name)

    def let_go(self, name: str) -> None:
        """Deletions that are asked for from now on end. (Ask again, as with Google.)"""
        self.hanging.discard(name)

    # By chance

    def draw(self, random: Random, rates: Rates | float) -> None:
        """Let things go wrong by chance: at one rate for `fail`, `drop` and `lose`, or each at its own."""
        self.random = random
        self.rates = rates if isinstance(rates, Mapping) else dict.fromkeys(("fail", "drop", "lose"), rates)

    def calm(self) -> None:
        """Nothing by chance any more, and no plan is left."""
        self.random, self.rates = None, {}
        self.plans.clear()

    # For the fake itself

    def next(self, method: str, *kinds: str) -> _Plan | None:
        """What happens to this call, of these kinds; it is used up."""
        for plan in self.plans:
            if plan.kind in kinds and fnmatchcase(method, plan.method):
                plan.times -= 1
                if plan.times <= 0:
                    self.plans.remove(plan)
                return plan
        for kind in kinds:
            if self._happens(kind):
                assert self.random
                return _Plan(kind, method, 1, self.random.choice(FAILURES), after_s=self.random.uniform(1, LATE_S))
        return None

    def _happens(self, kind: str) -> bool:
        return self.random is not None and self.random.random() < self.rates.get(kind, 0.0)

    def lag(self) -> float:
        """How old what this listing shows is, in seconds."""
        return self.random.uniform(0, LAG_S) if self.random and self._happens("lag") else self.lag_s

    def stock(self, zone: str, kind: str) -> str:
        """Empty if there is one, which is taken; else `waits` or `fails`."""
        for (in_zone, of_kind), how in self.out_of_stock.items():
            if fnmatchcase(zone, in_zone) and fnmatchcase(kind, of_kind):
                return how
        for (in_zone, of_kind), n in self.left.items():
            if fnmatchcase(zone, in_zone) and fnmatchcase(kind, of_kind):
                self.left[in_zone, of_kind] = n - 1
                return "waits" if n <= 0 else ""
        return "fails" if self._happens("stock_out") else ""

    def most(self, metric: str, place: str) -> float:
        """The quota: the smallest that fits."""
        fitting = [n for (name, where), n in self.limits.items() if name == metric and fnmatchcase(place, where)]
        return min(fitting, default=float("inf"))

    def denies(self, permission: str, resource: str, account: str) -> bool:
        """This account lacks that permission there."""
        asked = (permission, resource, account)
        return any(all(map(fnmatchcase, asked, one)) for one in self.denied)

    def hangs(self, name: str) -> bool:
        """A deletion of this resource does not end."""
        last = name.rpartition("/")[2]
        wanted = any(fnmatchcase(name, pattern) or fnmatchcase(last, pattern) for pattern in self.hanging)
        return wanted or self._happens("hang")
