"""A door to Google that only looks: what would change something is told instead, and answered as if it were done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...hosting import Tell
from ..api.interface import Answer, Google

_LOOKS = ("get", "list", "aggregatedList", "batchGet", "getIamPolicy", "testIamPermissions", "wait")


@dataclass(frozen=True, slots=True)
class Dry:
    """A door to Google. Every call is told, one line each; those that look are made."""

    google: Google
    tell: Tell

    def call(self, method: str, /, **parameters: Any) -> Answer:
        """A look, or the tale of a change. Raises as the door that it stands for."""
        looks = method.rpartition(".")[2] in _LOOKS
        self.tell(f"{'asked' if looks else 'would call'}: {method} {json.dumps(parameters, sort_keys=True)}")
        return self.google.call(method, **parameters) if looks else {}

    def pages(self, method: str, items: str, /, **parameters: Any) -> Iterator[Any]:
        """The items of a listing."""
        self.tell(f"asked: {method} {json.dumps(parameters, sort_keys=True)}")
        return self.google.pages(method, items, **parameters)

    def rest(self, seconds: float) -> None:
        """What was not begun is not waited for."""
