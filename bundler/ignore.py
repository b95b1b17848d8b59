"""What `.gitignore` and `.bastionignore` files say of a path. Pure.

Git asks, for every folder and file on the way down, the files of patterns from the nearest to the farthest, in each
from the last line to the first: the first pattern that matches this very path decides, and nothing below an ignored
folder is looked at. `pathspec` turns one pattern into a regular expression; the order is ours, because it has none
for files in nested folders.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from bastion.model.errors import BundleError

_ODD_BRACKETS = re.compile(r"(?<!\\)\[[^]]*(\\|\[[:.=])")


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One pattern: whether what it matches is ignored, whether it is for folders only."""

    ignores: bool
    folders_only: bool
    regex: re.Pattern[str]

    def matches(self, path: str, is_folder: bool) -> bool:
        """True if the pattern is for this very path; that of a folder above it is none of ours."""
        if self.folders_only and not is_folder:
            return False
        match = self.regex.search(path)
        return match is not None and match.lastindex is None  # the only group marks a folder above


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """The rules of one folder, last line first. Its paths: `above` + what follows the first `cut` characters."""

    rules: tuple[IgnoreRule, ...]
    cut: int = 0
    above: str = ""

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """True: ignored; False: taken in again; None: nothing is said."""
        local = self.above + path[self.cut :]
        return next((rule.ignores for rule in self.rules if rule.matches(local, is_folder)), None)


@dataclass(frozen=True, slots=True)
class Ignore:
    """The rules in force in one folder, nearest first. Bastion's own win over git's, wherever they stand."""

    own: tuple[IgnoreFile, ...] = ()
    git: tuple[IgnoreFile, ...] = ()

    def with_files(self, own: IgnoreFile, git: IgnoreFile) -> Ignore:
        """The rules in force in a folder that has these files."""
        return Ignore(
            (own, *self.own) if own.rules else self.own,
            (git, *self.git) if git.rules else self.git,
        )

    def drops(self, path: str, is_folder: bool) -> bool:
        """True if this path is ignored, given that no folder above it is."""
        verdicts = (level.verdict(path, is_folder) for level in (*self.own, *self.git))
        return next((verdict for verdict in verdicts if verdict is not None), False)


def parse(text: str, name: str) -> tuple[IgnoreRule, ...]:
    """The rules of a file of patterns, last line first. `name` is for the error of a pattern that we do not know."""
    return tuple(reversed(list(_rules(text.removeprefix("\ufeff"), name))))


def _rules(text: str, name: str) -> Iterator[IgnoreRule]:
    for number, line in enumerate(text.split("\n"), 1):
        pattern = line.removesuffix("\r")
        pattern = pattern if pattern.endswith("\\ ") else pattern.rstrip(" ")
        if not pattern or pattern.startswith("#"):
            continue
        if _ODD_BRACKETS.search(pattern):
            raise BundleError(
                f"line {number} of '{name}' is '{pattern}'; in brackets use only characters and ranges, as in [a-z_]"
            )
        if (rule := _rule(pattern)) is not None:
            yield rule


def _rule(pattern: str) -> IgnoreRule | None:
    """None for a pattern that can match nothing, as git has it."""
    from pathspec import GitIgnoreSpec

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # `re` wonders about [[]
        try:
            (compiled,) = GitIgnoreSpec.from_lines([pattern.removesuffix("/")]).patterns
        except (ValueError, re.error):
            return None
    if compiled.include is None or compiled.regex is None:
        return None
    return IgnoreRule(compiled.include, pattern.endswith("/"), compiled.regex)
