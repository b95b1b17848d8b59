"""`bastion doctor --verify`: check the whole journal, from its first object, against the digests in it."""

from __future__ import annotations

from bastion.journal.verify import JournalCheck, walk
from bastion.platform.system import ThreadTasks

from ...common.place import BastionPlace
from ...terminal.flags import Options
from ...terminal.main import DONE, FAILED, Call


def run(call: Call[Options], place: BastionPlace) -> int:
    """Return 0 if every object is what it was when the next one was written."""
    with call.output.progress(f"walking the journal of bastion {place.name}"):
        found = walk(place.bucket, ThreadTasks().map)
    if call.output.json:
        call.output.data(
            {
                "schema": 1,
                "name": place.name,
                "bucket": place.root.url,
                "well": not found.problem,
                "objects": found.objects,
                "first": found.first,
                "chain": found.chain,
                "head": found.head,
                "accepted": [{"first": first, "last": last} for first, last in found.accepted],
                "problem": found.problem,
            }
        )
    else:
        call.output.say("\n".join(lines(found)))
    return FAILED if found.problem else DONE


def lines(found: JournalCheck) -> list[str]:
    """Return the lines for people."""
    told = [f"ok       journal: {_what(found)}"] if found.objects else []
    for first, last in found.accepted:
        told.append(f"warning  journal: objects {first} to {last} are lost, and an admin accepted that")
    if found.problem:
        problem, _, advice = found.problem.rpartition("; ")
        return [*told, f"failed   journal: {problem or advice}", f"         -> {advice}"]
    return [*told, "every object is what it was when the next one was written"]


def _what(found: JournalCheck) -> str:
    count = f"{found.objects} objects from {found.first} on"
    if found.chain is None:
        return f"{count} can be read; an older version wrote them, without digests"
    begins = "" if found.chain <= found.first + 1 else f", the digests begin in object {found.chain}"
    return f"{count}{begins}"
