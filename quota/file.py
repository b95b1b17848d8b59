"""The text of a quota file to a Quota, strictly: every complaint at once, each with its line. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from quota.claims import CLASSES
from quota.lines import PARTS_MAX, Lines, too_deep
from quota.model import Quota, QuotaError
from quota.patterns import LENGTH_MAX, complaint, is_plain
from quota.resources import Resources, total
from quota.shares import TOLERANCE

BYTES_MAX = 1024 * 1024
PROJECTS_MAX = 10_000
TIERS_MAX = 64
AMOUNT_MAX = 10**12
GUESSES_MAX = 100  # looking for the nearest name takes a while

NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_NAME_RULE = "use 1 to 63 letters, digits, '.', '_' and '-', beginning and ending with a letter or digit, without '..'"
TABLES = (
    "toml-schema",
    "total_resources",
    "project_membership",
    "project_admins",
    "project_resources",
    "project_classes",
    "user_limits",
)
_AT_LINE = re.compile(r" \(at line ([0-9]+), column [0-9]+\)$")


def parse(text: str) -> Quota:
    """The quota that a file's text describes.

    Raises `QuotaError` with all complaints, in the order of their lines. Amounts are whole; shares are exact fractions
    of the total of a kind, and those of a kind may add up to a little more than 1, as 0.334 three times does.
    """
    size = len(text.encode("utf-8", "replace"))
    if size > BYTES_MAX:
        raise QuotaError([f"line 1: the file has {size} bytes; use at most {BYTES_MAX}"])
    reader = _Reader(_toml(text), Lines(text))
    quota = reader.quota()
    if reader.complaints:
        raise QuotaError([f"line {line}: {what}" for line, what in sorted(reader.complaints)])
    return quota


def _toml(text: str) -> dict[str, Any]:
    if deep := too_deep(text):
        raise QuotaError([f"line {deep}: a key has more than {PARTS_MAX} parts; use plain tables and lists"])
    try:
        return tomllib.loads(text, parse_float=_number)
    except RecursionError:
        raise QuotaError(["line 1: the file is nested too deeply; use plain tables and lists"]) from None
    except ValueError as error:  # TOMLDecodeError is one; a number of 5,000 digits raises a bare one
        at = _AT_LINE.search(str(error))
        line, what = (at[1], str(error)[: at.start()]) if at else ("1", str(error))
        raise QuotaError([f"line {line}: not TOML: {what}"]) from None


def _number(text: str) -> Fraction | str:
    """The exact value. What is not finite, or would need a huge number, stays text and is complained of as such."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return text
    return Fraction(value) if value.is_finite() and len(text) < 40 and abs(value.adjusted()) < 40 else text


class _Reader:
    """Reads one table and notes what is wrong with it; what it returns counts only if there are no complaints."""

    def __init__(self, table: dict[str, Any], lines: Lines) -> None:
        self._table, self._lines = table, lines
        self.complaints: list[tuple[int, str]] = []

    def quota(self) -> Quota:
        """What the table says."""
        self._known((), self._table, TABLES)
        self._version()
        tiers = self._tiers()
        members = self._people("project_membership")
        admins = self._people("project_admins")
        totals = total(tiers)
        return Quota(
            tiers=tiers,
            shares=self._shares(totals),
            members=members,
            admins=admins,
            classes=self._classes(),
            user_limits=self._user_limits(totals),
        )

    def _version(self) -> None:
        schema = self._rows("toml-schema", required=True)
        self._known(("toml-schema",), schema, ("version",))
        if isinstance(self._table.get("toml-schema"), dict) and schema.get("version") != "1":
            self._complain(("toml-schema", "version"), f'is {_shown(schema.get("version"))}; this program reads "1"')

    def _tiers(self) -> tuple[Resources, ...]:
        found = self._table.get("total_resources")
        if isinstance(found, dict):
            return (self._tier(("total_resources",), found),)
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            what = "is missing" if found is None else f"is {_shown(found)}"
            self._complain(
                ("total_resources",), f"{what}; use a table of amounts, or an array of tables, best tier first"
            )
            return ({},)
        if not 0 < len(found) <= TIERS_MAX:
            self._complain(("total_resources",), f"has {len(found)} tiers; use 1 to {TIERS_MAX}")
        return tuple(self._tier(("total_resources", str(number)), row) for number, row in enumerate(found)) or ({},)

    def _tier(self, path: tuple[str, ...], row: Mapping[str, Any]) -> Resources:
        for kind in row:
            self._name((*path, kind), kind)
        return self._amounts(path, row)

    def _amounts(self, path: tuple[str, ...], row: Mapping[str, Any]) -> Resources:
        amounts = {}
        for kind, amount in row.items():
            if isinstance(amount, int) and not isinstance(amount, bool) and 0 <= amount <= AMOUNT_MAX:
                amounts[kind] = amount
            else:
                self._complain((*path, kind), f"is {_shown(amount)}; use a whole number, 0 to {AMOUNT_MAX}")
        return amounts

    def _people(self, table: str) -> dict[str, tuple[str, ...]]:
        """Names and patterns, by project."""
        return self._lists(table, "names and patterns", _no_person)

    def _classes(self) -> dict[str, tuple[str, ...]]:
        """The classes that were granted, by project."""
        return self._lists("project_classes", "classes", _no_class)

    def _lists(self, table: str, of: str, wrong: Callable[[str], str | None]) -> dict[str, tuple[str, ...]]:
        """Lists of texts, by project. `wrong` says what is wrong with one, as the end of a sentence."""
        found = {}
        for project, row in self._projects(table):
            path = (table, project)
            if not isinstance(row, list) or not all(isinstance(item, str) for item in row):
                self._complain(path, f"is {_shown(row)}; use a list of {of} in quotes")
                continue
            found[project] = tuple(dict.fromkeys(row))
            for item in found[project]:
                if what := wrong(item):
                    self.complaints.append(
                        (self._lines.of_text(item, *path), f"{'.'.join(path)}: {_shown(item)} {what}")
                    )
        return found

    def _user_limits(self, totals: Resources) -> dict[str, Resources]:
        return {
            project: self._amounts(("user_limits", project), row)
            for project, row in self._by_kind("user_limits", "amounts, as in v4 = 64", totals)
        }

    def _shares(self, totals: Resources) -> dict[str, dict[str, Fraction]]:
        shares: dict[str, dict[str, Fraction]] = {}
        sums: dict[str, Fraction] = {}
        for project, row in self._by_kind("project_resources", "shares, as in v4 = 0.5", totals):
            path = ("project_resources", project)
            shares[project] = {kind: self._share((*path, kind), share) for kind, share in row.items()}
            for kind, share in shares[project].items():
                self._sum((*path, kind), sums, share)
        return shares

    def _by_kind(self, table: str, of: str, totals: Resources) -> Iterable[tuple[str, dict[str, Any]]]:
        """The rows of a table that has a table for each project, by kind of resource."""
        for project, row in self._projects(table):
            if isinstance(row, dict):
                self._known((table, project), row, totals, "is a kind that total_resources does not have")
                yield project, row
            else:
                self._complain((table, project), f"is {_shown(row)}; use a table of {of}")

    def _share(self, path: tuple[str, ...], share: object) -> Fraction:
        if isinstance(share, (int, Fraction)) and not isinstance(share, bool) and 0 <= share <= 1:
            return Fraction(share)
        self._complain(path, f"is {_shown(share)}; use a fraction, 0 to 1")
        return Fraction(0)

    def _sum(self, path: tuple[str, ...], sums: dict[str, Fraction], share: Fraction) -> None:
        """Add a share; complain once, of the one that makes it too much."""
        kind, most = path[-1], 1 + TOLERANCE
        before = sums.get(kind, Fraction(0))
        sums[kind] = before + share
        if before <= most < sums[kind]:
            self._complain(path, f"brings the shares of {kind} to {float(sums[kind]):g}; together use at most 1")

    def _projects(self, table: str) -> Iterable[tuple[str, Any]]:
        rows = self._rows(table)
        if len(rows) > PROJECTS_MAX:
            self._complain((table,), f"has {len(rows)} projects; use at most {PROJECTS_MAX}")
        for project in rows:
            self._name((table, project), project)
        return rows.items()

    def _rows(self, table: str, *, required: bool = False) -> dict[str, Any]:
        found = self._table.get(table)
        if found is None and not required:
            return {}
        if isinstance(found, dict):
            return found
        self._complain((table,), "is missing; begin with it" if found is None else f"is {_shown(found)}; use a table")
        return {}

    def _name(self, path: Sequence[str], name: str) -> None:
        if not NAME.fullmatch(name):
            self._complain(path, f"is no name; {_NAME_RULE}")

    def _known(
        self, path: Sequence[str], row: Mapping[str, Any], known: Collection[str], why: str = "is no key of this file"
    ) -> None:
        for key in row:
            if key not in known:
                near = get_close_matches(key, known, 1) if len(self.complaints) < GUESSES_MAX else []
                self._complain((*path, key), f"{why}; {f'is {_short(near[0])} meant?' if near else _use(known)}")

    def _complain(self, path: Sequence[str], what: str) -> None:
        self.complaints.append((self._lines.of(*path), f"{'.'.join(map(_short, path))} {what}"))


def _no_person(name: str) -> str | None:
    return complaint(name) if len(name) > LENGTH_MAX or not is_plain(name) else None


def _no_class(name: str) -> str | None:
    if name in CLASSES:
        return None
    near = get_close_matches(name, CLASSES, 1)
    return f"is no class of jobs; {f'is {near[0]} meant?' if near else _use(CLASSES)}"


def _use(known: Collection[str]) -> str:
    return f"use {', '.join(map(_short, sorted(known)[:10]))}" if known else "there is none at all"


def _short(text: str) -> str:
    line = text if text.isprintable() else repr(text)
    return line if len(line) <= 80 else f"{line[:60]}..."


def _shown(value: object) -> str:
    """A value as the file has it, in a few words."""
    if isinstance(value, Fraction):
        return f"{float(value):g}"
    names = {dict: "a table", list: "a list", bool: str(value).lower(), type(None): "not given"}
    return names.get(type(value)) or _short(repr(value))
