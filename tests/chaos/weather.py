"""What a network and a store do to requests, by rates, from one seed."""

from __future__ import annotations

import threading
from random import Random

from tests.support.faultproxy import Harm, Refuse

RATES: tuple[tuple[Harm | Refuse, float], ...] = (
    (Refuse(429), 0.02),
    (Refuse(503), 0.02),
    (Harm.LOSE_REQUEST, 0.02),
    (Harm.LOSE_ANSWER, 0.03),
    (Harm.CUT_ANSWER, 0.02),
    (Harm.HANG, 0.001),
)
"""Of all requests."""


class Weather:
    """Draws for each request. Which request draws what is up to the machine: the seed fixes the rates' sequence."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._drawing = threading.Lock()
        self.fell: dict[str, int] = {}

    def __call__(self, _: str) -> Harm | Refuse | None:
        """What befalls this request."""
        with self._drawing:
            drawn = self._random.random()
            for fault, rate in RATES:
                drawn -= rate
                if drawn < 0:
                    name = fault.name if isinstance(fault, Harm) else str(fault.status)
                    self.fell[name] = self.fell.get(name, 0) + 1
                    return fault
        return None
