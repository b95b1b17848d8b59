"""Describe commands and their flags as data. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag of a command.

    name: the long name, without dashes.
    help: its text in the help.
    sample: the value that the help shows; empty for a switch.
    kind: the type of the value: `str`, `int`, `float`, `bool`, or `list` for a flag that repeats.
    default: the value without the flag.
    choices: the values that a shell offers, where they are few; empty: none are offered.
    short: the letter that stands for it (`-u alice`, `-ualice`); empty: none.
    bare: the value when the flag stands alone. Another value then needs `=`: `--watch`, `--watch=5`. None: it cannot.
    """

    name: str
    help: str
    sample: str = ""
    kind: type = str
    default: Any = None
    choices: tuple[str, ...] = ()
    short: str = ""
    bare: Any = None

    @property
    def switch(self) -> bool:
        """Return True if it takes no value."""
        return not self.sample


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a command: a possible first word, such as `set` in `bastion quota set FILE`.

    name: the word itself.
    about: its text in the help.
    words: the names of its arguments, for the help.
    least: the smallest number of arguments.
    most: the largest number of arguments.
    """

    name: str
    about: str
    words: str = ""
    least: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One subcommand, or a tool's own action.

    name: the word that calls it; empty for the tool's own action.
    about: its text in the help.
    module: the module that holds its `run(call) -> int`.
    words: the names of its arguments, for the help.
    least: the smallest number of arguments.
    most: the largest number of arguments.
    takes_command: whether words may follow `--`.
    actions: the possible first words. The action then says which arguments follow. Empty: it has no actions.
    flags: its own flags, without the shared ones.
    """

    name: str
    about: str
    module: str
    words: str = ""
    least: int = 0
    most: int = 0
    takes_command: bool = False
    actions: tuple[Action, ...] = ()
    flags: tuple[Flag, ...] = ()

    @property
    def arguments(self) -> str:
        """Return its arguments as the help shows them."""
        return "ACTION" if self.actions else self.words

    def flag(self, name: str) -> Flag:
        """Return its flag of this name."""
        return next(flag for flag in self.flags if flag.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """Words that people know from other tools. No help lists them.

    commands: other tools' commands, each with our command; "" is the tool's own action.
    answers: commands without an equivalent here, each with a text that says what to use.
    flags: other tools' flags, each with our possible flags. The first one that the command has is used. `WORD` stands
        for a positional word.
    """

    commands: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


WORD = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A console script with its subcommands.

    name: the name of the script.
    about: its text in the help.
    commands: its subcommands.
    action: what it does without a subcommand; None: nothing.
    foreign: words of other tools that it understands.
    """

    name: str
    about: str
    commands: tuple[Command, ...]
    action: Command | None = None
    foreign: Foreign = field(default_factory=lambda: Foreign())

    def all(self) -> tuple[Command, ...]:
        """Return every command, the tool's own action first."""
        return (self.action, *self.commands) if self.action else self.commands


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """A parsed command line.

    tool: the tool that was called.
    command: the command that was called; None if only help or version is wanted and the tool has no own action.
    flags: the values of the flags, by name.
    words: the positional words.
    after: the words after `--`; None without `--`.
    given: the names of the flags that the command line sets; the others have their defaults.
    about: `help` or `version` if only that is wanted, else empty.
    """

    tool: Tool
    command: Command | None
    flags: Mapping[str, Any]
    words: tuple[str, ...] = ()
    after: tuple[str, ...] | None = None
    given: frozenset[str] = frozenset()
    about: str = ""


SHARED = (
    Flag("bastion", "Name of the bastion; also BASTION_NAME.", "NAME"),
    Flag("bucket", "URL of the bucket: file://, gs://, s3://, az://; also BASTION_BUCKET.", "URL"),
    Flag("profile", "Profile that says what flags do not; also BASTION_PROFILE. See bastion config.", "PROFILE"),
    Flag("json", "Print JSON; errors too.", kind=bool, default=False),
)
ABOUT = (
    Flag("help", "Print this help.", kind=bool, default=False),
    Flag("version", "Print the version.", kind=bool, default=False),
)


def completion(tool: str, module: str) -> Command:
    """Return the command that prints a tool's completion script for a shell."""
    return Command(
        name="completion",
        about="Print the script by which a shell completes commands, flags, values, and names of jobs and profiles.",
        module=module,
        actions=(
            Action("bash", f'For ~/.bashrc: eval "$({tool} completion bash)"'),
            Action("zsh", f"Store it as _{tool} in a folder of your fpath."),
            Action("fish", f"Store it as ~/.config/fish/completions/{tool}.fish."),
        ),
    )


def title(tool: Tool, command: Command | None) -> str:
    """Return the command as people call it: `launch ls`."""
    return f"{tool.name} {command.name}".strip() if command else tool.name
