"""Parsers of git's output. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

HEADS, TAGS, PEELED = "refs/heads/", "refs/tags/", "^{}"

_REF = re.compile(r"([0-9a-f]{40})\t(\S+)")
_LINK = re.compile(r"160000 [0-9a-f]{40} [0-3]\t([^\0]+)|160000 commit [0-9a-f]{40}\t([^\0]+)")
_BOILERPLATE = re.compile(r"fatal: Could not read from remote|Please make sure you have|and the repository exists")
_PARTS = {"1": 8, "2": 9, "u": 10}
"""The number of words before the path, by the kind of a line of `git status --porcelain=v2`."""


@dataclass(frozen=True, slots=True)
class GitChange:
    """One path that differs from the commit.

    path: the path.
    fault: why the change cannot be part of a diff; "" if it can.
    """

    path: str
    fault: str = ""


def changes(status: str) -> list[GitChange]:
    """Return the changes that `git status --porcelain=v2 -z` lists."""
    found: list[GitChange] = []
    fields = iter(status.split("\0"))
    for field in fields:
        kind = field[:1]
        if kind == "?":
            path = field[2:]
            found.append(GitChange(path, "is a git repository of its own" if path.endswith("/") else ""))
        elif kind in _PARTS:
            words = field.split(" ", _PARTS[kind])
            found.append(GitChange(words[-1], _fault(kind, words[2])))
            if kind == "2":
                next(fields, "")  # skip the path before the renaming
    return found


def _fault(kind: str, submodule: str) -> str:
    if kind == "u":
        return "is not merged"
    return "is a submodule; commit and push it" if submodule.startswith("S") else ""


def refs(listing: str) -> dict[str, str]:
    """Return the commits by the full names of refs, from the output of `git ls-remote`.

    For an annotated tag it is the commit that the tag names.
    """
    listed = {match[2]: match[1] for match in map(_REF.fullmatch, listing.splitlines()) if match}
    plain = {name: sha for name, sha in listed.items() if not name.endswith(PEELED)}
    return {name: listed.get(name + PEELED, sha) for name, sha in plain.items()}


def named(ref: str, known: Mapping[str, str]) -> list[str]:
    """Return the full names of the refs that a word may mean."""
    return [name for name in (ref, HEADS + ref, TAGS + ref) if name in known]


def short_names(known: Mapping[str, str]) -> list[str]:
    """Return branches and tags by their short names."""
    return [name.removeprefix(HEADS).removeprefix(TAGS) for name in known]


def links(listing: str) -> list[str]:
    """Return the paths of submodules in the output of `git ls-files --stage -z` or `git ls-tree -r -z`."""
    matches = map(_LINK.fullmatch, listing.split("\0"))
    return [match[1] or match[2] for match in matches if match]


def some(names: list[str], most: int = 10) -> str:
    """Return at most `most` of the names, for a message."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def last_words(text: str, most: int = 3) -> str:
    """Return the last lines that are not empty or boilerplate, joined into one."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _BOILERPLATE.match(line)]
    return " | ".join(lines[-most:])
