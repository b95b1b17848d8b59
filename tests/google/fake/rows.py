"""What there is, by its full name, and what there was a while ago: a listing may lag behind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.google.fake.clock import Clock

Row = dict[str, Any]

_KEPT_S = 900.0


class Rows:
    """Resources by name: `projects/p/locations/z/nodes/n`. A row is replaced, never changed in place."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._past: dict[str, dict[str, list[tuple[float, Row | None]]]] = {}

    def get(self, name: str) -> Row | None:
        """What is under a name now."""
        past = self._past.get(name.rpartition("/")[0], {}).get(name)
        return past[-1][1] if past else None

    def put(self, name: str, row: Row | None) -> None:
        """Set it; None: it is no more."""
        past = self._past.setdefault(name.rpartition("/")[0], {}).setdefault(name, [])
        while len(past) > 1 and past[1][0] < self._clock.now - _KEPT_S:
            del past[0]
        past.append((self._clock.now, row))

    def change(self, name: str, **fields: Any) -> Row | None:
        """Set some of its fields, if it is there; None removes a field. What it is then."""
        row = self.get(name)
        if row is None:
            return None
        row = {key: value for key, value in (row | fields).items() if value is not None}
        self.put(name, row)
        return row

    def within(self, collection: str, lag_s: float = 0.0) -> Iterator[tuple[str, Row]]:
        """What a collection holds, in the order of names; with a lag: what it held so many seconds ago."""
        at, held = self._clock.now - lag_s, self._past.get(collection, {})
        for name, past in sorted(held.items()):
            row = past[-1][1] if not lag_s else next((row for when, row in reversed(past) if when <= at), None)
            if row is not None:
                yield name, row
            elif past[-1][1] is None and past[-1][0] < self._clock.now - _KEPT_S:
                del held[name]

    def collections(self, pattern: str) -> list[str]:
        """The collections that have ever held something and whose names match, in order."""
        wanted = re.compile(pattern)
        return sorted(name for name in self._past if wanted.fullmatch(name))

    def matching(self, pattern: str) -> Iterator[tuple[str, Row]]:
        """What the collections of such names hold now."""
        for collection in self.collections(pattern):
            yield from self.within(collection)
