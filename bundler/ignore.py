"""The rules of `.gitignore` and `.bastionignore` files for a path. Pure.

Git checks every folder and file on the way down. It reads the files of patterns from the nearest to the farthest, and
each file from the last line to the first. The first pattern that matches this exact path decides, and nothing below an
ignored folder is checked. `pathspec` turns one pattern into a regular expression. The order is our own code, because
`pathspec` has none for files in nested folders.
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
    """One pattern of an ignore file.

    ignores: True if a matching path is ignored; False if it is included again.
    folders_only: True if the pattern matches only folders.
    regex: the pattern as a regular expression.
    """

    ignores: bool
    folders_only: bool
    regex: re.Pattern[str]

    def matches(self, path: str, is_folder: bool) -> bool:
        """Return True if the pattern matches this exact path. A match of only a folder above it does not count."""
        if self.folders_only and not is_folder:
            return False
        match = self.regex.search(path)
        return match is not None and match.lastindex is None  # the only group marks a folder above


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """The rules of one ignore file. They see a path as `above` plus what follows its first `cut` characters.

    rules: the rules, last line first.
    cut: the number of characters that are cut from the front of a path.
    above: the text that is put before the rest of the path.
    """

    rules: tuple[IgnoreRule, ...]
    cut: int = 0
    above: str = ""

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """Return True if the path is ignored, False if it is included again, None if no rule matches."""
        local = self.above + path[self.cut :]
        return next((rule.ignores for rule in self.rules if rule.matches(local, is_folder)), None)


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules in force in one folder. The rules of bastion win over the rules of git, wherever they are.

    own: the `.bastionignore` files, nearest first.
    git: the `.gitignore` files, nearest first.
    """

    own: tuple[IgnoreFile, ...] = ()
    git: tuple[IgnoreFile, ...] = ()

    def with_files(self, own: IgnoreFile, git: IgnoreFile) -> IgnoreRules:
        """Return the rules in force in a folder below that has these files."""
        return IgnoreRules(
            (own, *self.own) if own.rules else self.own,
            (git, *self.git) if git.rules else self.git,
        )

    def drops(self, path: str, is_folder: bool) -> bool:
        """Return True if this path is ignored. No folder above it may be ignored."""
        verdicts = (level.verdict(path, is_folder) for level in (*self.own, *self.git))
        return next((verdict for verdict in verdicts if verdict is not None), False)


def parse(text: str, name: str) -> tuple[IgnoreRule, ...]:
    """Return the rules of a file of patterns, last line first.

    Raises `BundleError` for a pattern that is not supported; `name` is the file's name in the message.
    """
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
    """Return the rule of a pattern; None if it can match nothing, as git decides it."""
    from pathspec import GitIgnoreSpec

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # `re` warns about [[]
        try:
            (compiled,) = GitIgnoreSpec.from_lines([pattern.removesuffix("/")]).patterns
        except (ValueError, re.error):
            return None
    if compiled.include is None or compiled.regex is None:
        return None
    return IgnoreRule(compiled.include, pattern.endswith("/"), compiled.regex)
