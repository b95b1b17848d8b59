"""Edit a text in the user's own editor. The user's work is never lost: the file stays until the text is settled."""

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
    """A text in a private file.

    path: the file.
    editor: the command that edits it.
    before: the text that the editor began with.
    settled: whether the text is stored where it belongs, so that the file can go.
    """

    path: Path
    editor: str
    before: str
    settled: bool = False

    def edit(self) -> str:
        """Run the editor, and return the text once it has ended.

        Raises `BastionError` if the editor failed, `KeyboardInterrupt` if Ctrl-C ended it.
        """
        code = _run(self.editor, self.path)
        if code in (-signal.SIGINT, 128 + signal.SIGINT):
            raise KeyboardInterrupt
        if code:
            raise BastionError(f"the editor {self.editor!r} ended with code {code}; set VISUAL or EDITOR to another")
        return self.text()

    def text(self) -> str:
        """Return what the file holds now. Raises `BastionError` if it is too large or not UTF-8."""
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
        """Return True if the file differs from what the editor began with and is not settled."""
        return not self.settled and self.path.exists() and self.path.read_bytes() != self.before.encode()


@contextmanager
def draft(text: str, name: str, environ: Mapping[str, str], output: Output) -> Iterator[Draft]:
    """Yield a file of this name with this text, in its own folder, which only this account can read.

    Afterwards the file is removed, unless it holds work that is not settled. Then the error or a note names its path.
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
    """Run the editor and return its exit code.

    While it runs, Ctrl-C is for the editor alone. We set a handler for that: an ignored signal would be inherited, a
    handler is not.
    """
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run([*shlex.split(editor), path], check=False).returncode
    except (OSError, ValueError) as error:
        raise BastionError(
            f"the editor {editor!r} cannot be started: {error}; set VISUAL or EDITOR to another"
        ) from error
    finally:
        signal.signal(signal.SIGINT, before)
