"""Describe commands, and their flags as attributes of typed options. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Generic, Self, TypeVar, overload

from bastion.model.errors import UsageError

T = TypeVar("T")
R = TypeVar("R")


class Flag(Generic[T]):
    """One flag of a command: an attribute of the command's `Options`, which has a value of type `T`.

    name: the long name, without dashes; that of the attribute, unless it is a word that Python keeps for itself.
    about: its text in the help.
    sample: the value that the help shows; empty for a switch.
    kind: how absl reads it: `str`, `int`, `float`, `bool`, or `list` for a flag that repeats.
    default: the value without the flag, as a user would type it.
    choices: the values that a shell offers, where they are few; empty: none are offered.
    short: the letter that stands for it (`-u alice`, `-ualice`); empty: none.
    bare: the value when the flag stands alone. Another value then needs `=`: `--watch`, `--watch=5`. None: it cannot.
    field: the field of a job spec that it sets; empty: none.
    read: makes the value of the words typed, and raises `BastionError` for wrong ones; it gets the flag's name for the
        message. None: the words are the value.
    """

    __slots__ = ("about", "bare", "choices", "default", "field", "kind", "name", "read", "sample", "short")

    def __init__(
        self, about: str, sample: str = "", *, kind: type = str, default: Any = None, choices: tuple[str, ...] = (),
        short: str = "", bare: Any = None, name: str = "", field: str = "", read: Callable[[Any, str], T] | None = None,
    ) -> None:  # fmt: skip
        self.about, self.sample, self.kind, self.default, self.choices = about, sample, kind, default, choices
        self.short, self.bare, self.name, self.field, self.read = short, bare, name, field, read

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    @overload
    def __get__(self, options: None, owner: type) -> Self: ...

    @overload
    def __get__(self, options: Options, owner: type) -> T: ...

    def __get__(self, options: Options | None, owner: type) -> Self | T:
        return self if options is None else options.values[self.name]

    @property
    def switch(self) -> bool:
        """Return True if it takes no value."""
        return not self.sample

    def value(self, typed: Any) -> Any:
        """Return the value of what was typed, or of the default. Raises `BastionError`."""
        if self.kind is list:
            typed = typed or []  # a repeating flag that is not set
        return typed if self.read is None or typed is None else self.read(typed, f"--{self.name}")

    def but(self, **changes: Any) -> Self:
        """Return the flag with another text or default, for another command."""
        return type(self)(**{name: getattr(self, name) for name in self.__slots__} | changes)

    def unset(self) -> Flag[T | None]:
        """Return the flag without its default: a value that is not set stays as it is."""
        unset: Flag[Any] = self.but(default=None)
        return unset


@overload
def text(
    about: str, sample: str, *, default: str, choices: tuple[str, ...] = ..., short: str = ..., name: str = ...,
    field: str = ...,
) -> Flag[str]: ...  # fmt: skip


@overload
def text(
    about: str, sample: str, *, choices: tuple[str, ...] = ..., bare: str = ..., field: str = ...
) -> Flag[str | None]: ...


def text(about: str, sample: str, **more: Any) -> Flag[Any]:
    """Declare a flag with a text as its value; None without a default."""
    return Flag(about, sample, **more)


def texts(about: str, sample: str, *, short: str = "", field: str = "") -> Flag[list[str]]:
    """Declare a flag that may be repeated."""
    return Flag(about, sample, kind=list, short=short, field=field)


def switch(about: str, *, default: bool = False, field: str = "") -> Flag[bool]:
    """Declare a flag without a value: `--x` or `--no_x`."""
    return Flag(about, kind=bool, default=default, field=field)


@overload
def number(about: str, sample: str, *, default: int, least: int = ..., field: str = ...) -> Flag[int]: ...


@overload
def number(about: str, sample: str, *, least: int = ..., short: str = ..., field: str = ...) -> Flag[int | None]: ...


def number(about: str, sample: str, *, least: int | None = None, **more: Any) -> Flag[Any]:
    """Declare a flag with a whole number, of `least` or more, as its value; None without a default."""
    return Flag(about, sample, kind=int, read=None if least is None else partial(_at_least, least), **more)


def _at_least(least: int, typed: int, flag: str) -> int:
    if typed < least:
        raise UsageError(f"{flag} is {typed}; use {least} or more")
    return typed


def decimal(about: str, sample: str, *, short: str = "", bare: float | None = None) -> Flag[float | None]:
    """Declare a flag with a number as its value."""
    return Flag(about, sample, kind=float, short=short, bare=bare)


@overload
def parsed(about: str, sample: str, read: Callable[[str, str], R], *, default: str, field: str = ...) -> Flag[R]: ...


@overload
def parsed(about: str, sample: str, read: Callable[[str, str], R | None], *, field: str = ...) -> Flag[R | None]: ...


def parsed(about: str, sample: str, read: Callable[[str, str], Any], **more: Any) -> Flag[Any]:
    """Declare a flag whose text is parsed into a value; None without a default."""
    return Flag(about, sample, read=read, **more)


def pairs(about: str, sample: str, *, field: str = "") -> Flag[dict[str, str]]:
    """Declare a flag NAME=VALUE that may be repeated, with a table of them as its value."""
    return Flag(about, sample, kind=list, read=_table, field=field)


def _table(typed: list[str], flag: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in typed:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise UsageError(f"{flag} is {text[:64]!r}; use {flag} NAME=VALUE")
        if found.get(name, value) != value:
            raise UsageError(f"{flag} gives {name[:64]} two values; give it one")
        found[name] = value
    return found


class Options:
    """The parsed flags of a command, each as an attribute with its type. A command derives its own from this.

    values: the values by the names of the flags, for code that goes by names.
    """

    bastion = text("Name of the bastion; also BASTION_NAME.", "NAME")
    bucket = text("URL of the bucket: file://, gs://, s3://, az://; also BASTION_BUCKET.", "URL")
    profile = text("Profile with defaults for flags; also BASTION_PROFILE. See bastion config.", "PROFILE")
    json = switch("Print JSON, errors too.")

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def but(self, **values: Any) -> Self:
        """Return the options with other values of these flags."""
        return type(self)({**self.values, **values})

    def fields(self, names: Collection[str] | None = None) -> dict[str, Any]:
        """Return the values of the flags that set a field of a job spec, by field: of all these flags, or of those named."""
        flags = (flag for flag in self.flags() if flag.field and (names is None or flag.name in names))
        return {flag.field: self.values[flag.name] for flag in flags}

    def of(self, group: type[Options]) -> dict[str, Any]:
        """Return the values of the flags of a group that this command has, by their names."""
        return {flag.name: self.values[flag.name] for flag in group.flags()}

    @classmethod
    def like(cls, other: Options, **values: Any) -> Self:
        """Return options with these values, the other command's shared flags, and the rest at their defaults."""
        shared = {flag.name: other.values[flag.name] for flag in SHARED}
        return cls({**{flag.name: flag.value(flag.default) for flag in cls.flags()}, **shared, **values})

    @classmethod
    @cache
    def flags(cls) -> tuple[Flag[Any], ...]:
        """List the command's own flags: first those of its class, then those of its bases; without the shared ones."""
        found: dict[str, Flag[Any]] = {}
        for flag in (flag for base in cls.__mro__ if base is not Options for flag in vars(base).values()):
            if isinstance(flag, Flag):
                found.setdefault(flag.name, flag)
        return tuple(found.values())


class ConfirmOptions(Options):
    """The flag of commands that ask before they act."""

    yes = switch("Do it without asking.")


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
    module: the module that holds its `run(call) -> int`, or `module:function`.
    words: the names of its arguments, for the help.
    least: the smallest number of arguments.
    most: the largest number of arguments.
    takes_command: whether words may follow `--`.
    actions: the possible first words. The action then says which arguments follow. Empty: it has no actions.
    options: its flags.
    """

    name: str
    about: str
    module: str
    words: str = ""
    least: int = 0
    most: int = 0
    takes_command: bool = False
    actions: tuple[Action, ...] = ()
    options: type[Options] = Options

    @property
    def flags(self) -> tuple[Flag[Any], ...]:
        """Return its own flags, without the shared ones."""
        return self.options.flags()

    @property
    def arguments(self) -> str:
        """Return its arguments as the help shows them."""
        return "ACTION" if self.actions else self.words


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
    options: the values of the flags.
    words: the positional words.
    after: the words after `--`; None without `--`.
    given: the names of the flags that the command line sets; the others have their defaults.
    about: `help` or `version` if only that is wanted, else empty.
    """

    tool: Tool
    command: Command | None
    options: Options
    words: tuple[str, ...] = ()
    after: tuple[str, ...] | None = None
    given: frozenset[str] = frozenset()
    about: str = ""


SHARED: tuple[Flag[Any], ...] = (Options.bastion, Options.bucket, Options.profile, Options.json)


class _About(Options):
    help = switch("Print this help.")
    version = switch("Print the version.")


ABOUT: tuple[Flag[Any], ...] = (_About.help, _About.version)


def completion(tool: str, module: str) -> Command:
    """Return the command that prints a tool's completion script for a shell."""
    return Command(
        name="completion",
        about="Print a completion script for your shell. It completes commands, flags, values, and names of jobs and "
        "profiles.",
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
