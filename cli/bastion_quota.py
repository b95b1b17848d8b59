"""`bastion quota`: show the file and who uses what, check a file, put one in force."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from bastion import recover
from bastion.affected import affected
from bastion.errors import BastionError, Missing
from bastion.layout import QUOTA
from bastion.ports import Bucket, Stored
from bastion.usage import usage
from cli.ask import agree
from cli.bastion_status import usage_table
from cli.exchange import exchange
from cli.main import DONE, Call
from cli.place import is_known, known_place_of, place_of, unknown
from quota.changes import diff, warnings
from quota.file import BYTES_MAX, parse
from quota.model import Quota, QuotaError


def run(call: Call) -> int:
    """Do what the first word says."""
    action, *rest = call.words
    if action == "show":
        return show(call)
    return (check if action == "check" else put)(call, Path(rest[0]))


def show(call: Call) -> int:
    """The file as it lies in the bucket, and what every project holds of its share."""
    place = known_place_of(call)
    stored = read(place.bucket)
    quota, problem = lenient(stored)
    uses = usage(recover.load(place.bucket), quota)
    text = stored.data.decode("utf-8", "replace") if stored else ""
    if call.output.json:
        rows = [asdict(use) for use in uses]
        call.output.data(
            {"text": text, "version": stored.version if stored else None, "problem": problem, "usage": rows}
        )
        return DONE
    call.output.say(text.rstrip() or "there is no quota file: everybody may use everything")
    if problem:
        call.output.note(f"the file is broken, the last good one stays in force: {problem}")
    call.output.say("\n".join(usage_table(uses)))
    return DONE


def check(call: Call, path: Path) -> int:
    """Say all that is wrong or odd with a file; nothing is written, and no bucket is needed."""
    quota = strict(path, load(path))
    odd = warnings(quota)
    if call.output.json:
        call.output.data({"file": str(path), "warnings": odd})
        return DONE
    for line in odd:
        call.output.note(f"warning: {line}")
    call.output.say(
        f"{path} can be used: {len(quota.members)} projects, {sum(map(len, quota.members.values()))} members"
    )
    return DONE


def put(call: Call, path: Path) -> int:
    """Check the file, show what changes and for whom, ask, and replace the one in the bucket if it is still the same."""
    place = place_of(call)
    data = load(path)
    new = strict(path, data)
    stored = read(place.bucket)
    if not is_known(place):
        call.output.note(f"warning: {unknown(place)}")
    changes = report(call, place.bucket, stored, new)
    if stored is None or stored.data != data:
        agree(call, f"put this quota in force for bastion {place.name}?")
        exchange(place.bucket, QUOTA, data, stored.version if stored else None)
    if call.output.json:
        call.output.data(changes)
    else:
        call.output.say(
            f"the quota of bastion {place.name} is set: in force within 10 s, and for every job submitted from now on"
        )
    return DONE


def report(call: Call, bucket: Bucket, stored: Stored | None, new: Quota) -> dict[str, Any]:
    """What the new quota changes, printed for people and returned for programs."""
    old, problem = lenient(stored)
    state = recover.load(bucket)
    found: dict[str, Any] = {
        "diff": diff(None if old.is_open else old, new),
        "affected": affected(state, old, new),
        "warnings": warnings(new),
    }
    if not call.output.json:
        lines = [f"the file in force now is broken: {problem}"] if problem else []
        lines += [f"  {line}" for line in found["diff"]] or ["  nothing changes"]
        lines += [f"affected: {line}" for line in found["affected"]]
        lines += [f"warning: {line}" for line in found["warnings"]]
        call.output.note("\n".join(lines))
    return found


def read(bucket: Bucket) -> Stored | None:
    """The quota file in the bucket, if there is one."""
    try:
        return bucket.read(QUOTA)
    except Missing:
        return None


def lenient(stored: Stored | None) -> tuple[Quota, str]:
    """The quota of a stored file, and what is wrong with it; without a usable file everybody's."""
    if stored is None:
        return Quota.open(), ""
    try:
        return parse(stored.data.decode()), ""
    except (QuotaError, UnicodeDecodeError) as error:
        return Quota.open(), str(error)


def load(path: Path) -> bytes:
    """The bytes of a file on this machine. Raises `BastionError`."""
    with path.open("rb") as file:
        data = file.read(BYTES_MAX + 1)
    if len(data) > BYTES_MAX:
        raise BastionError(f"{path} has more than {BYTES_MAX} bytes; a quota file is smaller")
    return data


def strict(path: Path, data: bytes) -> Quota:
    """The quota that the bytes describe. Raises `BastionError` with every complaint and its line."""
    try:
        return parse(data.decode())
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BastionError(f"{path}: line {line}: not UTF-8; save the file as UTF-8") from error
    except QuotaError as error:
        raise BastionError(f"{path}: {'; '.join(error.complaints)}") from error
