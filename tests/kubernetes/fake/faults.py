"""What requests meet that do not fare well."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.kubernetes.fake.store import Problem


@dataclass
class Fault:
    """What the next requests of a form meet. `code` 0: the connection breaks after the request was done."""

    form: re.Pattern[str]
    code: int
    times: int
    message: str
    headers: Mapping[str, str]


@dataclass
class Faults:
    """Those that there are."""

    kept: list[Fault] = field(default_factory=list)

    def add(self, form: str, code: int, times: int, message: str, headers: Mapping[str, str]) -> None:
        """One more."""
        self.kept.append(Fault(re.compile(form), code, times, message or f"there is a fault, {code}", headers))

    def clear(self) -> None:
        """None any more."""
        self.kept.clear()

    def meet(self, said: str) -> bool:
        """What a request meets: an error, or True for an answer that is lost."""
        for fault in self.kept:
            if fault.times and fault.form.match(said):
                fault.times -= 1
                if not fault.code:
                    return True
                raise Problem(fault.code, "Fault", fault.message, **fault.headers)
        return False
