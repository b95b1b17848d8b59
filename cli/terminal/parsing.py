"""Parse a command line into flags and words. absl parses; an error names the nearest correct word. Pure.

This module imports nothing heavy, because `--help` waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from absl import flags as absl_flags

from bastion.model.errors import UsageError
from bastion.model.nearest import did_you_mean

from .flags import ABOUT, SHARED, WORD, Command, CommandLine, Flag, Options, Tool, title


def parse(tool: Tool, argv: Sequence[str]) -> CommandLine:
    """Parse the command line of a tool. Flags stand in any order before `--`. Raises `UsageError`."""
    before, after = _split(argv)
    words = ["--help" if word in ("-h", "-?") else word for word in before]
    at = _subcommand(tool, words)
    name = None if at is None else words.pop(at)
    if name is not None and name in tool.foreign.answers:
        raise UsageError(f"{tool.name} has no command {name}; {tool.foreign.answers[name]}")
    name = tool.foreign.commands.get(name or "", name)
    command = next((c for c in tool.commands if c.name == name), tool.action)
    if command is None:
        return _without_command(tool, words)
    parser, rest = _parsed(tool, command, words)
    known = {flag.name: flag for flag in (*ABOUT, *SHARED, *command.flags)}
    given = frozenset(name for name in known if parser[name].present)
    about = next((flag.name for flag in ABOUT if parser[flag.name].value), "")
    # Help and version do not wait for right values.
    values = {} if about else {name: flag.value(parser[name].value) for name, flag in known.items()}
    line = CommandLine(
        tool=tool,
        command=command,
        options=command.options(values),
        words=tuple(rest),
        after=after,
        given=given,
        about=about,
    )
    if not line.about:
        _check_words(line)
    return line


def _split(argv: Sequence[str]) -> tuple[list[str], tuple[str, ...] | None]:
    if "--" not in argv:
        return list(argv), None
    at = list(argv).index("--")
    return list(argv[:at]), tuple(argv[at + 1 :])


def _subcommand(tool: Tool, words: Sequence[str]) -> int | None:
    """Return the position of the subcommand; None without one.

    It is the first word that is neither a flag nor a flag's value, if that word is the name of a command.
    """
    flags = [flag for command in tool.all() for flag in (*SHARED, *command.flags)]
    valued = set(tool.foreign.flags) | {
        word for flag in flags if not flag.switch and flag.bare is None for word in (flag.name, flag.short)
    }
    names = {command.name for command in tool.commands} | {*tool.foreign.commands, *tool.foreign.answers}
    is_value = False
    for at, word in enumerate(words):
        if not is_value and not word.startswith("-"):
            return at if word in names else None
        is_value = not is_value and "=" not in word and word.lstrip("-").replace("-", "_") in valued
    return None


def _without_command(tool: Tool, words: Sequence[str]) -> CommandLine:
    """Handle a line without a known subcommand, for a tool that does nothing by itself."""
    word = next((w for w in words if not w.startswith("-")), None)
    asked = [flag.name for flag in ABOUT if f"--{flag.name}" in words]
    if word is None and (not words or asked):
        return CommandLine(tool=tool, command=None, options=Options({}), about=asked[0] if asked else "help")
    names = [command.name for command in tool.commands]
    wrong = f"{word!r} is not a command of {tool.name}" if word else f"{tool.name} needs a command"
    raise UsageError(f"{wrong}; {did_you_mean(word or '', names, 'use ' + ', '.join(names))}")


def _check_words(line: CommandLine) -> None:
    command, name = line.command, title(line.tool, line.command)
    assert command is not None
    if line.after is not None and not command.takes_command:
        raise UsageError(f"{name} takes no command after --; leave it out")
    if command.actions:
        _check_action(command, name, line.words)
    elif len(line.words) < command.least:
        raise UsageError(f"{name} needs {command.words}; see {name} --help")
    elif len(line.words) > command.most:
        raise UsageError(_too_many(line, name, line.words[command.most]))


def _check_action(command: Command, name: str, words: Sequence[str]) -> None:
    known = {action.name: action for action in command.actions}
    use = f"use {', '.join(known)}"
    if not words:
        raise UsageError(f"{name} needs an action; {use}")
    action = known.get(words[0])
    if action is None:
        raise UsageError(f"{words[0]!r} is not an action of {name}; {did_you_mean(words[0], known, use)}")
    if not action.least <= len(words) - 1 <= action.most:
        raise UsageError(f"{name} {action.name} takes {action.words or 'no word after it'}; see {name} --help")


def _too_many(line: CommandLine, name: str, word: str) -> str:
    names = [command.name for command in line.tool.commands]
    if line.command is not line.tool.action:
        return f"{word!r} is one word too many for {name}; see {name} --help"
    if line.after is None:
        otherwise = f"put -- before the command to run: {name} [flags] -- {' '.join(line.words)}"
        return f"{word!r} is not a command of {name}; {did_you_mean(word, names, otherwise)}"
    return f"{word!r} stands before --; put flags before -- and the command to run after it"


def _parsed(tool: Tool, command: Command, words: Sequence[str]) -> tuple[absl_flags.FlagValues, list[str]]:
    known = {flag.name: flag for flag in (*ABOUT, *SHARED, *command.flags)}
    parser, words = _parser(known), _understood(tool, command, words, known)
    try:
        rest = parser([tool.name, *(_underscored(_lengthened(word, known), known) for word in words)])[1:]
    except absl_flags.UnrecognizedFlagError as error:
        wrong = f"--{error.flagname} is not a flag of {title(tool, command)}"
        see = f"see {title(tool, command)} --help"
        guess = did_you_mean(error.flagname.replace("-", "_"), known, see)
        raise UsageError(f"{wrong}; {guess.replace('mean ', 'mean --')}") from None
    except absl_flags.IllegalFlagValueError as error:
        raise UsageError(_wrong_value(str(error), known)) from None
    except (absl_flags.Error, ValueError) as error:
        raise UsageError(" ".join(str(error).split()).removesuffix(".")) from None
    return parser, rest


def _understood(tool: Tool, command: Command, words: Sequence[str], known: Mapping[str, Flag[Any]]) -> list[str]:
    """Return the words with other tools' flags replaced by our names for them."""
    out = []
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        name = name.replace("-", "_")
        ours = () if name in known or not word.startswith("-") else tool.foreign.flags.get(name, ())
        found = next((one for one in ours if one in known or (one == WORD and "JOB" in command.words)), None)
        if found is None:
            out.append(word)
        elif found:
            out.append(f"--{found}{equals}{value}")
        elif equals:
            out.append(value)  # without `=`, the value is the next word and already positional
    return out


def _parser(known: Mapping[str, Flag[Any]]) -> absl_flags.FlagValues:
    define: dict[type, Callable[..., Any]] = {
        str: absl_flags.DEFINE_string,
        int: absl_flags.DEFINE_integer,
        float: absl_flags.DEFINE_float,
        bool: absl_flags.DEFINE_bool,
        list: absl_flags.DEFINE_multi_string,
    }
    values = absl_flags.FlagValues()  # type: ignore[no-untyped-call]  # absl annotates its methods only
    values.set_gnu_getopt(True)
    for flag in known.values():
        define[flag.kind](flag.name, flag.default, flag.about, flag_values=values)
    return values


def _lengthened(word: str, known: Mapping[str, Flag[Any]]) -> str:
    """Rewrite `-ualice` as `--user=alice`. A long flag may also have one dash, and it wins: `-user=alice`."""
    name = word[1:].partition("=")[0].replace("-", "_")
    if word[:1] != "-" or word[:2] == "--" or name in known or name.removeprefix("no") in known:
        return word
    flag = next((flag for flag in known.values() if flag.short and flag.short == word[1:2]), None)
    if flag is None:
        return word
    value = word[2:].removeprefix("=")
    return f"--{flag.name}={value}" if value else f"--{flag.name}"


def _underscored(word: str, known: Mapping[str, Flag[Any]]) -> str:
    """Write a word as absl reads it.

    `--instance-type=T` becomes `--instance_type=T`, `--no-follow` becomes absl's `--nofollow`, `--watch` becomes
    `--watch=2`.
    """
    if not word.startswith("--"):
        return word
    name, equals, value = word[2:].partition("=")
    name = name.replace("-", "_")
    positive = name.removeprefix("no_")
    if name not in known and positive in known and known[positive].switch:
        name = f"no{positive}"
    if not equals and name in known and known[name].bare is not None:
        return f"--{name}={known[name].bare}"
    return f"--{name}{equals}{value}" if name in known or name.startswith("no") else word


_VALUES = {int: "a whole number", float: "a number", bool: "true or false"}


def _wrong_value(error: str, known: Mapping[str, Flag[Any]]) -> str:
    """Turn absl's `flag --priority=high: ...` into our message."""
    name, _, value = error.partition(":")[0].removeprefix("flag --").partition("=")
    return f"--{name} is {value!r}; use {_VALUES.get(known[name].kind, 'another value')}"
