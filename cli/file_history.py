"""`bastion quota history` and `bastion config history`: who changed the file when, from the journal.

The state knows which journal objects tell of it, so that each change costs one read, however long the journal is.
"""

from __future__ import annotations

from collections.abc import Iterator

from bastion import layout, recover
from bastion.errors import Missing, RecordError
from bastion.events import JournalObject, unpack
from bastion.ports import Bucket
from bastion.system import ThreadTasks
from cli.admin_file import AdminFile, read
from cli.choosing import limit_of
from cli.main import DONE, Call
from cli.place import known_place_of
from cli.table import table
from launcher.file_history import HEADS, Change, Teller


def history(call: Call, file: AdminFile) -> int:
    """Every change, the newest last. What lies in the bucket and was not read by the bastion is one of them."""
    limit, place = limit_of(call), known_place_of(call)
    found = changes(place.bucket, file)
    found = found[-limit:] if limit else found
    if call.output.json:
        call.output.data({"schema": 1, "file": file.name, "changes": [change.row() for change in found]})
    elif not found:
        call.output.say(f"the {file.name} of bastion {place.name} was never changed")
    elif call.flags["diff"]:
        call.output.say("\n".join(line for change in found for line in _page(change)))
    else:
        call.output.say("\n".join(table(HEADS, [change.cells() for change in found], width=call.output.width)))
    return DONE


def changes(bucket: Bucket, file: AdminFile) -> list[Change]:
    """All that is known, the oldest first. Raises `BucketError`; a journal object that cannot be read is one of them."""
    held = read(bucket, file)
    tasks = ThreadTasks()
    state = recover.load(bucket, tasks.map)
    numbers = state.marks.get(file.name, ())
    teller = Teller(file.name, lambda old, new: file.diff(file.lenient(old)[0], file.lenient(new)[0]))
    records = tasks.map(lambda number: _record(bucket, number), numbers)
    found = [change for seq, record in zip(numbers, records, strict=True) for change in teller.told(seq, record)]
    known = state.files.get(file.name)
    if held.version is not None and (known is None or known.version != held.version):
        found.append(teller.change(held.text, held.byline, at=None, seq=None))
    return found


def _record(bucket: Bucket, number: int) -> JournalObject:
    try:
        return unpack(bucket.read(layout.journal(number)).data, number)
    except Missing as missing:
        raise RecordError(f"journal object {number} is missing") from missing


def _page(change: Change) -> Iterator[str]:
    yield f"{change.time or 'at an unknown time'}  {change.who or 'somebody'}"
    yield from (f"  {line}" for line in change.lines)
    yield from ("", *(f"    {line}".rstrip() for line in change.diff[2:]), "") if change.diff else ("",)
