"""The strict reader of quota files: from text to a `Quota`, or to all faults at once, each with its line. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, TypeGuard

from . import toml_reader
from .demand import CLASSES
from .name_patterns import LENGTH_MAX, complaint, is_plain
from .quota import Quota, QuotaError
from .resources import Resources, total
from .shares import TOLERANCE
from .toml_reader import TomlLines

BYTES_MAX = 1024 * 1024
PROJECTS_MAX = 10_000
TIERS_MAX = 64
AMOUNT_MAX = 10**12
GUESSES_MAX = 100  # complaints up to which the nearest name is looked for: the search takes a while

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


def parse(text: str) -> Quota:
    """Return the quota that the text of a file describes.

    Raises `QuotaError` with all complaints, in the order of their lines. Amounts are whole numbers. Shares are exact
    fractions of the total of a kind, and the shares of a kind may add up to a little more than 1, as 0.334 three times
    does. A share may also be given as an amount, a whole number of units. A whole 1 means all of a kind, except where
    the shares of others leave no room for that: there it means one unit.
    """
    size = len(text.encode("utf-8", "replace"))
    if size > BYTES_MAX:
        raise QuotaError([f"line 1: the file has {size} bytes; use at most {BYTES_MAX}"])
    reader = _Reader(_toml(text), TomlLines(text))
    quota = reader.quota()
    if reader.complaints:
        raise QuotaError([f"line {line}: {what}" for line, what in sorted(reader.complaints)])
    return quota


def _toml(text: str) -> dict[str, Any]:
    try:
        return toml_reader.loads(text, parse_float=_number)
    except toml_reader.TomlError as error:
        raise QuotaError([str(error)]) from None


def _number(text: str) -> Fraction | str:
    """Return the exact value. A number that is not finite or too long stays text, and a later check complains of it."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return text
    return Fraction(value) if value.is_finite() and len(text) < 40 and abs(value.adjusted()) < 40 else text


class _Reader:
    """The reader of one table. It collects complaints; what it returns is valid only if there are none."""

    def __init__(self, table: dict[str, Any], lines: TomlLines) -> None:
        self._table, self._lines = table, lines
        self.complaints: list[tuple[int, str]] = []

    def quota(self) -> Quota:
        """Return the quota that the table describes."""
        self._known((), self._table, TABLES)
        self._version()
        tiers = self._tiers()
        members = self._people("project_membership")
        admins = self._people("project_admins")
        totals = total(tiers)
        shares, amounts = self._shares(totals)
        return Quota(
            tiers=tiers,
            shares=shares,
            amounts=amounts,
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
        """Return names and patterns, by project."""
        return self._lists(table, "names and patterns", _no_person)

    def _classes(self) -> dict[str, tuple[str, ...]]:
        """Return the classes that were granted, by project."""
        return self._lists("project_classes", "classes", _no_class)

    def _lists(self, table: str, of: str, wrong: Callable[[str], str | None]) -> dict[str, tuple[str, ...]]:
        """Return lists of texts, by project. `wrong` returns the fault of one text, as the end of a sentence."""
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

    def _shares(self, totals: Resources) -> tuple[dict[str, dict[str, Fraction]], frozenset[tuple[str, str]]]:
        """Return all shares as fractions, and the (project, kind) pairs that the file gives as amounts."""
        rows = dict(self._by_kind("project_resources", "shares, as in v4 = 0.5 or v4 = 8", totals))
        numbers: dict[str, Fraction] = defaultdict(Fraction)
        for row in rows.values():
            for kind, share in row.items():
                numbers[kind] += share if _is_number(share) else 0
        shares: dict[str, dict[str, Fraction]] = {project: {} for project in rows}
        amounts, sums = set[tuple[str, str]](), _Sums()
        for project, row in rows.items():
            for kind, share in row.items():
                path = ("project_resources", project, kind)
                # A whole number is an amount only if the numbers of its kind together are more than all of it.
                is_amount = _is_whole(share) and share > 0 and numbers[kind] > 1 + TOLERANCE
                part = self._amount(path, share, totals.get(kind, 0)) if is_amount else self._share(path, share)
                shares[project][kind] = part
                if is_amount:
                    amounts.add((project, kind))
                if too_much := sums.add(kind, part, totals.get(kind, 0), is_amount=is_amount):
                    self._complain(path, too_much)
        return shares, frozenset(amounts)

    def _amount(self, path: tuple[str, ...], units: int, whole: int) -> Fraction:
        if units <= whole:
            return Fraction(units, whole)
        self._complain(path, f"is {units}, and the total is {whole}; use a fraction, 0 to 1, or an amount up to that")
        return Fraction(0)

    def _by_kind(self, table: str, of: str, totals: Resources) -> Iterable[tuple[str, dict[str, Any]]]:
        """Yield the project and the row, by kind, of a table that holds a table for each project."""
        for project, row in self._projects(table):
            if isinstance(row, dict):
                self._known((table, project), row, totals, "is a kind that total_resources does not have")
                yield project, row
            else:
                self._complain((table, project), f"is {_shown(row)}; use a table of {of}")

    def _share(self, path: tuple[str, ...], share: object) -> Fraction:
        if isinstance(share, int | Fraction) and _is_number(share) and 0 <= share <= 1:
            return Fraction(share)
        self._complain(path, f"is {_shown(share)}; use a fraction, 0 to 1, or a whole number of units")
        return Fraction(0)

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
        self._complain(
            (table,), "is missing; write this table first" if found is None else f"is {_shown(found)}; use a table"
        )
        return {}

    def _name(self, path: Sequence[str], name: str) -> None:
        if not NAME.fullmatch(name):
            self._complain(path, f"is not a valid name; {_NAME_RULE}")

    def _known(
        self,
        path: Sequence[str],
        row: Mapping[str, Any],
        known: Collection[str],
        why: str = "is not a key of this file",
    ) -> None:
        for key in row:
            if key not in known:
                near = get_close_matches(key, known, 1) if len(self.complaints) < GUESSES_MAX else []
                self._complain((*path, key), f"{why}; {f'did you mean {_short(near[0])}?' if near else _use(known)}")

    def _complain(self, path: Sequence[str], what: str) -> None:
        self.complaints.append((self._lines.of(*path), f"{'.'.join(map(_short, path))} {what}"))


class _Sums:
    """The sums of the shares of each kind: of all shares, and of those that are amounts.

    Only the share that makes a sum too large is reported, so each kind is reported once.
    """

    def __init__(self) -> None:
        self._all: dict[str, Fraction] = defaultdict(Fraction)
        self._amounts: dict[str, Fraction] = defaultdict(Fraction)

    def add(self, kind: str, share: Fraction, whole: int, *, is_amount: bool) -> str:
        """Add a share. Return the fault of the sum if this share makes it too large; else an empty text."""
        before, amounts = self._all[kind], self._amounts[kind]
        self._all[kind] += share
        self._amounts[kind] += share if is_amount else 0
        if amounts <= 1 < self._amounts[kind] and before <= 1 + TOLERANCE:
            return f"brings the amounts of {kind} to {self._amounts[kind] * whole}; the total is {whole}"
        if not before <= 1 + TOLERANCE < self._all[kind]:
            return ""
        units = f" ({float(self._all[kind] * whole):g} of {whole})" if self._amounts[kind] else ""
        return f"brings the shares of {kind} to {float(self._all[kind]):g}{units}; together use at most 1"


def _is_number(share: object) -> bool:
    return isinstance(share, int | Fraction) and not isinstance(share, bool)


def _is_whole(share: object) -> TypeGuard[int]:
    return isinstance(share, int) and not isinstance(share, bool)


def _no_person(name: str) -> str | None:
    return complaint(name) if len(name) > LENGTH_MAX or not is_plain(name) else None


def _no_class(name: str) -> str | None:
    if name in CLASSES:
        return None
    near = get_close_matches(name, CLASSES, 1)
    return f"is not a class of jobs; {f'did you mean {near[0]}?' if near else _use(CLASSES)}"


def _use(known: Collection[str]) -> str:
    return f"use {', '.join(map(_short, sorted(known)[:10]))}" if known else "it has none"


def _short(text: str) -> str:
    line = text if text.isprintable() else repr(text)
    return line if len(line) <= 80 else f"{line[:60]}..."


def _shown(value: object) -> str:
    """Return a value as the file has it, in a few words."""
    if isinstance(value, Fraction):
        return f"{float(value):g}"
    names = {dict: "a table", list: "a list", bool: str(value).lower(), type(None): "not given"}
    return names.get(type(value)) or _short(repr(value))
