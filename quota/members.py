"""The members of each project. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache

from .name_patterns import NAME_MAX, is_plain

ANSWERS = 65_536  # cached answers: users are few, but strangers may send any name, so the cache needs a bound


class Members:
    """The members of every project, listed by plain names and by patterns.

    Plain names are looked up in a table, which is built once. The patterns of a project are joined into one expression,
    which is compiled once, at its first use. A pattern must match the whole name, and case matters. `make` compiles an
    expression; tests count its calls.
    """

    def __init__(
        self, rows: Mapping[str, tuple[str, ...]], make: Callable[[str], re.Pattern[str]] = re.compile
    ) -> None:
        self._rows = rows
        self._names: dict[str, set[str]] = {}
        for project, row in rows.items():
            for name in filter(is_plain, row):
                self._names.setdefault(name, set()).add(project)
        self._patterned = tuple(project for project, row in rows.items() if not all(map(is_plain, row)))
        self._make = make
        self._pattern = cache(self._joined)
        self._of = lru_cache(ANSWERS)(self._ask)

    def projects_of(self, user: str) -> frozenset[str]:
        """Return the projects that the user belongs to. A name that is too long for a user belongs to none."""
        return self._of(user) if len(user) <= NAME_MAX else frozenset()

    def _joined(self, project: str) -> re.Pattern[str]:
        return self._make("|".join(row for row in self._rows[project] if not is_plain(row)))

    def _ask(self, user: str) -> frozenset[str]:
        matched = (project for project in self._patterned if self._pattern(project).fullmatch(user))
        return frozenset(self._names.get(user, set()).union(matched))
