"""Commands and their flags as data. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag. `sample` is what the help shows for its value; a flag without one is a switch.

    The kind is the default's type unless said: `str`, `int`, `float`, `bool`, or `list` for one that repeats.
    `short` is the letter that stands for it: `-u alice`, `-ualice`. `bare` is its value when none is given; another
    one then needs its `=`: `--watch`, `--watch=5`.
    `choices` are the values that a shell offers, where they are few.
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
        """It takes no value."""
        return not self.sample


@dataclass(frozen=True, slots=True)
class Action:
    """What the first word of a command may be, as `set` of `bastion quota set FILE`; the rest as of a `Command`."""

    name: str
    about: str
    words: str = ""
    least: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One subcommand, or a tool's own action (its name is then empty). `module` holds its `run(call) -> int`.

    `words` names its arguments; `takes_command` says that words may follow `--`. Where there are `actions`, the first
    word is the name of one, which says what may follow.
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
        """How the help shows its arguments."""
        return "ACTION" if self.actions else self.words

    def flag(self, name: str) -> Flag:
        """Its flag of this name."""
        return next(flag for flag in self.flags if flag.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """Words that people know from other tools; no help lists them.

    `commands` are understood as ours ("" is the tool's own action). `answers` have no equal here: the text says what to use.
    `flags` are understood as ours where a command has that one; a flag that is understood as `WORD` is one of its words.
    """

    commands: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


WORD = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A console script: its subcommands, and the action without one, if it has one."""

    name: str
    about: str
    commands: tuple[Command, ...]
    action: Command | None = None
    foreign: Foreign = field(default_factory=lambda: Foreign())

    def all(self) -> tuple[Command, ...]:
        """Every command, the action first."""
        return (self.action, *self.commands) if self.action else self.commands


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """A command line, parsed. `after` is what followed `--`; None if there was no `--`.

    `given` are the flags that are said, and have not only their defaults. `about`: help or version, if only that is
    asked for.
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
    """The command by which a tool teaches a shell its words."""
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
    """How people call it: `launch ls`."""
    return f"{tool.name} {command.name}".strip() if command else tool.name
