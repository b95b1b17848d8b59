"""A client of Google that only looks. It reports a call that would change something, and answers as if it were done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...hosting import Tell
from ..api.interface import Answer, Google

_LOOKS = ("get", "list", "aggregatedList", "batchGet", "getIamPolicy", "testIamPermissions", "wait")


@dataclass(frozen=True, slots=True)
class DryGoogle:
    """A client of Google for a dry run. It reports each call in one line, and makes only those that read.

    google: the real client.
    tell: reports a line.
    """

    google: Google
    tell: Tell

    def call(self, method: str, /, **parameters: Any) -> Answer:
        """Make a call that reads, or report one that changes. Raises as the real client does."""
        looks = method.rpartition(".")[2] in _LOOKS
        self.tell(f"{'asked' if looks else 'would call'}: {method} {json.dumps(parameters, sort_keys=True)}")
        return self.google.call(method, **parameters) if looks else {}

    def pages(self, method: str, items: str, /, **parameters: Any) -> Iterator[Any]:
        """Yield the items of a listing."""
        self.tell(f"asked: {method} {json.dumps(parameters, sort_keys=True)}")
        return self.google.pages(method, items, **parameters)

    def rest(self, seconds: float) -> None:
        """Do nothing: nothing was started, so there is nothing to wait for."""
