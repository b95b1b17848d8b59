"""Write the text of `--help`, from the same data as the parser. Pure."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from .flags import ABOUT, SHARED, Action, Command, CommandLine, Flag, Tool, title

WIDTH = 110
INDENT = 28


def text(line: CommandLine) -> str:
    """Return the help of a command, or of the whole tool."""
    command = line.command
    about = line.tool.about if command is None else command.about
    parts = [f"usage: {usage(line.tool, command)}", "", *wrap(about, WIDTH), ""]
    if command is line.tool.action:
        parts += _commands(line.tool)
    if command is not None and command.actions:
        parts += ["Actions:", *(row for each in command.actions for row in _named(each)), ""]
    if command is not None:
        parts += ["Flags:", *(row for flag in (*command.flags, *SHARED, *ABOUT) for row in _flag(flag))]
    return "\n".join(parts).rstrip()


def usage(tool: Tool, command: Command | None) -> str:
    """Return the form of a command line: `launch update [flags] JOB [-- COMMAND...]`."""
    if command is None:
        return f"{tool.name} COMMAND [flags]"
    after = ("[-- COMMAND...]" if command.arguments else "-- COMMAND...") if command.takes_command else ""
    return " ".join(filter(None, [title(tool, command), "[flags]", command.arguments, after]))


def shown(flag: Flag[Any]) -> str:
    """Return a flag as the help names it, with a sample of its value."""
    value = "" if flag.switch else f"={flag.sample}" if flag.bare is None else f"[={flag.sample}]"
    return (f"-{flag.short}, " if flag.short else "") + f"--{flag.name}{value}"


def default(flag: Flag[Any]) -> str:
    """Return the end of a flag's help: its default, if it has one that is worth showing."""
    return "" if flag.switch or flag.default in (None, "", []) else f" Default: {flag.default}."


def _commands(tool: Tool) -> list[str]:
    rows = [row for command in tool.commands for row in _named(command)]
    return ["Commands:", *rows, "", f"See `{tool.name} COMMAND --help` for the flags of each.", ""]


def _named(thing: Command | Action) -> list[str]:
    words = thing.arguments if isinstance(thing, Command) else thing.words
    return _row(f"{thing.name} {words}".strip(), thing.about)


def _flag(flag: Flag[Any]) -> list[str]:
    return _row(shown(flag), flag.about + default(flag))


def _row(left: str, about: str) -> list[str]:
    lines = wrap(about, WIDTH - INDENT) or [""]
    first = (
        [f"  {left}".ljust(INDENT) + lines[0]] if len(left) + 4 <= INDENT else [f"  {left}", " " * INDENT + lines[0]]
    )
    return [*first, *(" " * INDENT + line for line in lines[1:])]
