"""List what a shell may offer after a tool's name, from the same data as the parser and the help. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .flags import ABOUT, SHARED, Flag, Tool

JOBS, PROFILES, FILES = "jobs", "profiles", "files"
"""Kinds of words that are read at completion time: job names from the cache, profile names, files."""

_KINDS = {"JOB": JOBS, "PROFILE": PROFILES, "FILE": FILES}


@dataclass(frozen=True, slots=True)
class Completion:
    """A word that a shell offers.

    word: the text to insert.
    about: its meaning, for the menu.
    """

    word: str
    about: str


@dataclass(frozen=True, slots=True)
class CompletionPlace:
    """A place on the command line where words of one kind stand.

    command: the command before the place.
    action: the action before it; empty if the command has no actions.
    kind: one of `JOBS`, `PROFILES`, `FILES`.
    many: whether several such words may follow.
    """

    command: str
    action: str
    kind: str
    many: bool


def commands(tool: Tool) -> list[Completion]:
    """List the names of the commands, which are the first words."""
    return [Completion(command.name, command.about) for command in tool.commands]


def actions(tool: Tool) -> dict[str, list[Completion]]:
    """List the actions, which are the second words, of each command that has some."""
    return {
        command.name: [Completion(action.name, action.about) for action in command.actions]
        for command in tool.commands
        if command.actions
    }


def flags(tool: Tool) -> dict[str, tuple[Flag[Any], ...]]:
    """Return the flags of each command, by its name. The empty name has the tool's own action."""
    found = {command.name: (*command.flags, *SHARED, *ABOUT) for command in tool.all()}
    return {"": (*SHARED, *ABOUT)} | found


def valued(tool: Tool) -> list[str]:
    """List the flags and short letters that take a separate word as their value, sorted."""
    return sorted({word for each in flags(tool).values() for flag in each if takes(flag) for word in _words(flag)})


def takes(flag: Flag[Any]) -> bool:
    """Return True if the flag needs a value."""
    return not flag.switch and flag.bare is None


def name(flag: Flag[Any]) -> str:
    """Return what the user types after the dashes. A switch that is on by default is offered as `no_NAME`."""
    return f"no_{flag.name}" if flag.switch and flag.default else flag.name


def values(tool: Tool) -> dict[str, tuple[str, ...]]:
    """Return the possible values of each flag and short letter: the words, or the one kind of word."""
    found: dict[str, tuple[str, ...]] = {}
    for flag in (flag for each in flags(tool).values() for flag in each):
        if flag.choices:
            found |= dict.fromkeys(_words(flag), flag.choices)
        elif flag.sample in _KINDS:
            found |= dict.fromkeys(_words(flag), (_KINDS[flag.sample],))
    return found


def _words(flag: Flag[Any]) -> list[str]:
    return [word for word in (flag.name, flag.short) if word]


def places(tool: Tool) -> Iterator[CompletionPlace]:
    """List the places where words of a kind stand that are not flags."""
    for command in tool.commands:
        for action, words in [("", command.words), *((action.name, action.words) for action in command.actions)]:
            word = words.split(" ")[0]
            if kind := _KINDS.get(word.rstrip(".")):
                yield CompletionPlace(command.name, action, kind, word.endswith("..."))


def sentence(about: str) -> str:
    """Return the first sentence of a text, for one line of a menu."""
    return about.split(". ")[0].split(": ")[0].rstrip(".")
