"""Show, compare, replace and edit the two files that admins write into the bucket: quota and settings.

A change is checked, shown with its consequences and confirmed. Then it replaces exactly the version that was read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bastion.journal import recover
from bastion.model.errors import BastionError, ObjectNotFound, VersionConflict
from bastion.model.interfaces import Bucket
from bastion.model.job.audit_line import AuditLine, sign, split
from bastion.model.state.state import State
from bastion.platform.system import SystemClock

from ..terminal.confirm import again, agree, check_agreeable
from ..terminal.editor import draft
from ..terminal.flags import ConfirmOptions
from ..terminal.main import DONE, Call
from .command_context import user_of
from .compare_and_swap import exchange
from .place import BastionPlace, known_place_of


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminFile:
    """One of the two kinds of files. `Any` is the value that its text describes.

    name: its name for people.
    key: its key in the bucket.
    parse: reads a text. Raises `BastionError` with every complaint and its line.
    absent: the value that holds without a file.
    diff: the lines that differ between two values.
    affected: the lines about what a change affects, from the state, the old and the new value.
    warnings: the lines that warn about a value.
    outline: the text that an editor begins with if there is no file.
    done: the end of the message after a change.
    """

    name: str
    key: str
    parse: Callable[[str], Any]
    absent: Any
    diff: Callable[[Any, Any], Sequence[str]]
    affected: Callable[[State, Any, Any], Sequence[str]]
    warnings: Callable[[Any], Sequence[str]]
    outline: str
    done: str

    def lenient(self, text: str) -> tuple[Any, str]:
        """Return the value of a stored text, and what is wrong with it. Of a broken text, the value is `absent`."""
        try:
            return self.parse(text) if text else self.absent, ""
        except BastionError as error:
            return self.absent, str(error)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The file as it is stored in the bucket.

    text: its text without the audit line.
    byline: the audit line; None if it has none.
    version: its version in the bucket; None if there is no file.
    """

    text: str = ""
    byline: AuditLine | None = None
    version: str | None = None


def read(bucket: Bucket, file: AdminFile) -> StoredFile:
    """Read the file from the bucket."""
    try:
        stored = bucket.read(file.key)
    except ObjectNotFound:
        return StoredFile()
    return StoredFile(*split(stored.data.decode("utf-8", "replace")), stored.version)


def put(call: Call[ConfirmOptions], place: BastionPlace, file: AdminFile, held: StoredFile, text: str) -> int:
    """Check a text, show its changes, ask, and replace the file.

    Raises `BastionError` for a text that cannot be used, `VersionConflict` if somebody else changed the file meanwhile.
    """
    body, _ = split(text)
    new = file.parse(body)
    changes = report(call, place.bucket, file, held, new)
    if held.version is None or body != held.text:
        agree(call, f"use this {file.name} for bastion {place.name} from now on?")
        signed = sign(body, user_of(call), SystemClock().wall())
        file.parse(signed)
        try:
            exchange(place.bucket, file.key, signed.encode(), held.version)
        except VersionConflict:
            raise VersionConflict(_overtaken(call, place.bucket, file, held)) from None
    if call.output.json:
        call.output.data({"schema": 1, **changes})
    else:
        call.output.say(f"the {file.name} of bastion {place.name} is set: {file.done}")
    return DONE


def edit(call: Call[ConfirmOptions], file: AdminFile) -> int:
    """Let the user edit the file, and put the result.

    The editor opens again while the text is wrong and the user wants it.
    """
    place = known_place_of(call)
    check_agreeable(call, f"change the {file.name} of bastion {place.name}?")
    held = read(place.bucket, file)
    before = held.text or file.outline
    with draft(before, f"{file.name}.toml", call.environ, call.output) as made:
        text = made.edit()
        while (problem := _problem(file, text)) and again(call, problem):
            text = made.edit()
        if problem:
            raise BastionError(problem)
        if text == before:
            call.output.note(f"the text did not change, so the {file.name} of bastion {place.name} stays as it is")
            return DONE
        code = put(call, place, file, held, text)
        made.settled = True
        return code


def report(call: Call[ConfirmOptions], bucket: Bucket, file: AdminFile, held: StoredFile, new: Any) -> dict[str, Any]:
    """Print for people what the new value changes, and return it for programs."""
    old, problem = file.lenient(held.text)
    state = recover.load(bucket)
    found: dict[str, Any] = {
        "diff": file.diff(old, new),
        "affected": file.affected(state, old, new),
        "warnings": file.warnings(new),
    }
    lines = [f"the file in force now is broken: {problem}"] if problem else []
    lines += [f"  {line}" for line in found["diff"]] or ["  nothing changes"]
    lines += [f"affected: {line}" for line in found["affected"]]
    lines += [f"warning: {line}" for line in found["warnings"]]
    call.output.note("\n".join(lines))
    return found


def _problem(file: AdminFile, text: str) -> str:
    try:
        file.parse(text)
    except BastionError as error:
        return str(error)
    return ""


def _overtaken(call: Call[ConfirmOptions], bucket: Bucket, file: AdminFile, held: StoredFile) -> str:
    """Show what somebody else changed since `held`, and return the message that names them."""
    theirs = read(bucket, file)
    old, _ = file.lenient(held.text)
    new, problem = file.lenient(theirs.text)
    changes = [problem] if problem else file.diff(old, new) or ["words and comments only"]
    who, when = (theirs.byline.user, f" at {theirs.byline.at}") if theirs.byline else ("somebody else", "")
    call.output.note("\n".join([f"what {who} changed meanwhile:", *(f"  {line}" for line in changes)]))
    return f"{who} changed {file.key} meanwhile{when}, so your version was not stored; look at the change and try again"
