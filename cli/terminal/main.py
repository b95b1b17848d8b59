"""Run one command line, from its words to an exit code. Only this file turns errors into lines and exit codes.

A command's module is imported only when the command runs: `--help` must not wait for stores and schemas.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import TextIOWrapper
from typing import Generic, TextIO, TypeVar

from bastion.model.errors import BastionError, JobNotFound, UsageError
from bastion.model.version import VERSION

from .flags import CommandLine, Options, Tool
from .output import Output
from .parsing import parse
from .table import wants_json

DONE, FAILED, USAGE, NOT_FOUND, INTERRUPTED, CLOSED_PIPE = 0, 1, 2, 102, 130, 141

CODES: tuple[tuple[type[BastionError], int], ...] = ((UsageError, USAGE), (JobNotFound, NOT_FOUND))
"""The exit code for each error that a command raises. All other errors of ours exit with `FAILED`."""


TRACEBACK = "BASTION_TRACEBACK"
"""The environment variable that shows the whole traceback of an internal error.

It is for people who look for the bug.
"""


O_co = TypeVar("O_co", bound=Options, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[O_co]):
    """The arguments of a command's `run`.

    options: the command's flags, parsed.
    words: the positional words.
    after: the words after `--`; None without `--`.
    environ: the environment variables.
    output: where the command prints.
    given: the names of the flags that the command line sets.
    """

    options: O_co
    words: tuple[str, ...]
    after: tuple[str, ...] | None
    environ: Mapping[str, str]
    output: Output
    given: frozenset[str] = frozenset()


def main(tool: Tool) -> int:
    """Run a console script with the arguments and streams of this process."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a character that the terminal cannot show must not fail the command
    return run(tool, sys.argv[1:], environ=os.environ, out=sys.stdout, err=sys.stderr, loaded=gc.freeze)


def run(
    tool: Tool,
    argv: Sequence[str],
    *,
    environ: Mapping[str, str],
    out: TextIO,
    err: TextIO,
    loaded: Callable[[], None] = lambda: None,
) -> int:
    """Run a command line and return its exit code. An expected error is one line on `err`.

    `loaded` is called once the command's code is loaded. A program has the collector leave that code alone: it stays, and
    to look through it again and again took most of the time of reading a long journal.
    """
    output = Output(out, err, json=wants_json(argv), environ=environ)
    try:
        return _dispatch(tool, argv, environ, output, loaded)
    except BrokenPipeError:
        return _closed_pipe(out)
    except (BastionError, OSError) as error:
        output.error(_message(error))
        return next((code for kind, code in CODES if isinstance(error, kind)), FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if environ.get(TRACEBACK):
            raise
        output.error(f"internal error: {type(error).__name__}: {error}; set {TRACEBACK}=1 to see where, and report it")
        return FAILED


def _message(error: BastionError | OSError) -> str:
    """Return the text of an expected error. An error of the operating system names the file: `cannot read x: no such file`.

    A file that is missing in a folder that exists was to be read: to create it there would have worked.
    """
    if not isinstance(error, OSError) or not isinstance(name := error.filename, str) or not error.strerror:
        return str(error)
    if error.filename2 is not None:  # which of the two is meant, it does not say
        return f"{name} to {error.filename2}: {error.strerror.lower()}"
    folder = os.path.dirname(name) or os.curdir
    if not isinstance(error, FileNotFoundError):
        return f"cannot open {name}: {error.strerror.lower()}"
    return f"cannot read {name}: no such file" if os.path.isdir(folder) else f"cannot open {name}: no folder {folder}"


def _dispatch(
    tool: Tool, argv: Sequence[str], environ: Mapping[str, str], output: Output, loaded: Callable[[], None]
) -> int:
    line = parse(tool, argv)
    if line.about:
        _tell(line, output)
        return DONE
    assert line.command is not None
    call = Call(
        options=line.options, words=line.words, after=line.after, environ=environ, output=output, given=line.given
    )
    module, _, function = line.command.module.partition(":")
    command = getattr(import_module(module), function or "run")
    loaded()
    code: int = command(call)
    return code


def _tell(line: CommandLine, output: Output) -> None:
    """Print the help or the version."""
    if line.about == "help":
        from .help import text

        output.say(text(line))
    elif output.json:
        output.data({"schema": 1, "version": VERSION})
    else:
        output.say(f"{line.tool.name} {VERSION}")


def _closed_pipe(out: TextIO) -> int:
    """End quietly after the reader of our output has gone.

    The interpreter flushes `out` once more at its exit, so `out` must point to something that accepts it.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
    return CLOSED_PIPE
