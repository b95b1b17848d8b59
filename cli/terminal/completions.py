"""What a shell may offer behind a tool's name, from the same data as parser and help. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .flags import ABOUT, SHARED, Flag, Tool

JOBS, PROFILES, FILES = "jobs", "profiles", "files"
"""What only the moment knows: names of jobs from the cache, names of profiles, files."""

_KINDS = {"JOB": JOBS, "PROFILE": PROFILES, "FILE": FILES}


@dataclass(frozen=True, slots=True)
class Offer:
    """A word with its meaning."""

    word: str
    about: str


@dataclass(frozen=True, slots=True)
class CompletionPlace:
    """Behind command and action (empty: the command has none) stands a word of this kind, or `many`."""

    command: str
    action: str
    kind: str
    many: bool


def commands(tool: Tool) -> list[Offer]:
    """The first words."""
    return [Offer(command.name, command.about) for command in tool.commands]


def actions(tool: Tool) -> dict[str, list[Offer]]:
    """The second words of the commands that have some."""
    return {
        command.name: [Offer(action.name, action.about) for action in command.actions]
        for command in tool.commands
        if command.actions
    }


def flags(tool: Tool) -> dict[str, tuple[Flag, ...]]:
    """The flags of every command; those of the tool's own action under the empty name."""
    found = {command.name: (*command.flags, *SHARED, *ABOUT) for command in tool.all()}
    return {"": (*SHARED, *ABOUT)} | found


def valued(tool: Tool) -> list[str]:
    """Flags and letters behind which a value stands as a word of its own, sorted."""
    return sorted({word for each in flags(tool).values() for flag in each if takes(flag) for word in _words(flag)})


def takes(flag: Flag) -> bool:
    """It needs a value."""
    return not flag.switch and flag.bare is None


def name(flag: Flag) -> str:
    """What is typed of it after the dashes: a switch that is on is offered to be turned off."""
    return f"no_{flag.name}" if flag.switch and flag.default else flag.name


def values(tool: Tool) -> dict[str, tuple[str, ...]]:
    """What the value behind a flag or its letter may be: words, or one of a kind."""
    found: dict[str, tuple[str, ...]] = {}
    for flag in (flag for each in flags(tool).values() for flag in each):
        if flag.choices:
            found |= dict.fromkeys(_words(flag), flag.choices)
        elif flag.sample in _KINDS:
            found |= dict.fromkeys(_words(flag), (_KINDS[flag.sample],))
    return found


def _words(flag: Flag) -> list[str]:
    return [word for word in (flag.name, flag.short) if word]


def places(tool: Tool) -> Iterator[CompletionPlace]:
    """Where words of a kind stand that are no flags."""
    for command in tool.commands:
        for action, words in [("", command.words), *((action.name, action.words) for action in command.actions)]:
            word = words.split(" ")[0]
            if kind := _KINDS.get(word.rstrip(".")):
                yield CompletionPlace(command.name, action, kind, word.endswith("..."))


def sentence(about: str) -> str:
    """The first sentence, for a line of a menu."""
    return about.split(". ")[0].split(": ")[0].rstrip(".")
