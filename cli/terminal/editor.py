"""A text in the user's own editor. What they wrote is never lost: it stays in its file until it is settled."""

from __future__ import annotations

import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bastion.model.errors import BastionError

from .output import Output

USUAL = "vi"
READ_MAX = 2 * 1024 * 1024


@dataclass(slots=True)
class Draft:
    """A text in a private file. `settled`: it is where it should be, and the file is not needed any more."""

    path: Path
    editor: str
    before: str
    settled: bool = False

    def edit(self) -> str:
        """The text once the editor has ended. Raises `BastionError` if the editor failed, `KeyboardInterrupt`."""
        code = _run(self.editor, self.path)
        if code in (-signal.SIGINT, 128 + signal.SIGINT):
            raise KeyboardInterrupt
        if code:
            raise BastionError(f"the editor {self.editor!r} ended with code {code}; set VISUAL or EDITOR to another")
        return self.text()

    def text(self) -> str:
        """What the file holds now. Raises `BastionError`."""
        with self.path.open("rb") as file:
            data = file.read(READ_MAX + 1)
        if len(data) > READ_MAX:
            raise BastionError(f"{self.path} has more than {READ_MAX} bytes; files of this kind are smaller")
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise BastionError(f"line {line}: not UTF-8; save the file as UTF-8") from error

    def is_worth_keeping(self) -> bool:
        """True if it differs from what the editor was given."""
        return not self.settled and self.path.exists() and self.path.read_bytes() != self.before.encode()


@contextmanager
def draft(text: str, name: str, environ: Mapping[str, str], output: Output) -> Iterator[Draft]:
    """A file of this name with this text, in a folder of its own that only this account can read.

    It is gone afterwards, unless it holds work that is settled nowhere: then whoever asked is told where it is.
    """
    folder = Path(tempfile.mkdtemp(prefix="bastion-edit-"))
    editor = environ.get("VISUAL") or environ.get("EDITOR") or USUAL
    made = Draft(folder / name, editor, text)
    try:
        made.path.write_bytes(text.encode())
        yield made
    except (BastionError, OSError) as error:
        if made.is_worth_keeping():
            kind = type(error) if isinstance(error, BastionError) else BastionError
            raise kind(f"{error} (your text is kept in {made.path})") from error
        raise
    except KeyboardInterrupt:
        if made.is_worth_keeping():
            output.note(f"your text is kept in {made.path}")
        raise
    finally:
        if not made.is_worth_keeping():
            shutil.rmtree(folder, ignore_errors=True)


def _run(editor: str, path: Path) -> int:
    """Its exit code. Ctrl-C is the editor's alone while it is there; a handler, unlike ignoring, is not inherited."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run([*shlex.split(editor), path], check=False).returncode
    except (OSError, ValueError) as error:
        raise BastionError(
            f"the editor {editor!r} cannot be started: {error}; set VISUAL or EDITOR to another"
        ) from error
    finally:
        signal.signal(signal.SIGINT, before)
