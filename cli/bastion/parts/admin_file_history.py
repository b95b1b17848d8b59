"""`bastion quota history` and `bastion config history`: list the changes of a file, from the journal.

The state lists the journal objects with such changes, so each change costs one read, even in a long journal.
"""

from __future__ import annotations

from collections.abc import Iterator

from bastion.journal import journal_reader
from bastion.launcher.history.file_history import HEADS, FileChange, FileHistory
from bastion.launcher.read.job_rows import gap_lines, gap_rows
from bastion.model.interfaces import Bucket
from bastion.model.stored.journal_object import Gaps
from bastion.platform.system import ThreadTasks

from ...common.admin_file import AdminFile, read
from ...common.place import known_place_of
from ...options.bastion import PastOptions
from ...terminal.main import DONE, Call
from ...terminal.table import table


def history(call: Call[PastOptions], file: AdminFile) -> int:
    """Print every change, the newest last. A stored version that the bastion has not read is a change, too."""
    limit, place, gaps = call.options.limit, known_place_of(call), Gaps()
    found = changes(place.bucket, file, gaps)
    found = found[-limit:] if limit else found
    if call.output.json:
        rows = [change.row() for change in found]
        call.output.data({"schema": 1, "file": file.name, "changes": rows, **gap_rows(gaps.found)})
        return DONE
    if call.options.diff:
        lines = [line for change in found for line in _page(change)]
    elif found:
        lines = table(HEADS, [change.cells() for change in found], width=call.output.width)
    else:
        lines = [f"the {file.name} of bastion {place.name} was never changed"]
    call.output.say("\n".join([*lines, *gap_lines(gaps.found)]))
    return DONE


def changes(bucket: Bucket, file: AdminFile, gaps: Gaps) -> list[FileChange]:
    """Return all changes, the oldest first. Objects that cannot be read are added to `gaps`. Raises `BucketError`."""
    held = read(bucket, file)
    tasks = ThreadTasks()
    state = journal_reader.load(bucket, tasks.map, gaps)
    numbers = sorted({*range(state.indexed or 0), *state.marks.get(file.name, ())})
    records = journal_reader.read(bucket, numbers, tasks.map, gaps)
    teller = FileHistory(file.name, lambda old, new: file.diff(file.lenient(old)[0], file.lenient(new)[0]))
    found = [change for record in records for change in teller.told(record)]
    known = state.files.get(file.name)
    if held.version is not None and (known is None or known.version != held.version):
        found.append(teller.change(held.text, held.byline, at=None, seq=None))
    return found


def _page(change: FileChange) -> Iterator[str]:
    yield f"{change.time or 'at an unknown time'}  {change.who or 'somebody'}"
    yield from (f"  {line}" for line in change.lines)
    yield from ("", *(f"    {line}".rstrip() for line in change.diff[2:]), "") if change.diff else ("",)
