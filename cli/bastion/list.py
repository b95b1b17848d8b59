"""`bastion list`: list the bastions of a bucket."""

from __future__ import annotations

from typing import Any

from bastion.model.errors import UsageError
from bastion.model.stored.status import summary
from bastion.platform import host
from bastion.platform.system import SystemClock
from bastion.stores.opening import PrefixedBucket, open_bucket

from ..common.place import BastionPlace, is_known, names, setting_of
from ..hosting import where
from ..terminal.flags import Options
from ..terminal.main import DONE, Call
from ..terminal.table import table

HEADS = ("BASTION", "STATE", "HOST", "VERSION", "HOSTING")
_KEYS = ("bastion", "state", "host", "version", "lodging")


def run(call: Call[Options]) -> int:
    """Print a row for each bastion. Other names in the bucket are left out."""
    if (said := setting_of(call, "bucket")) is None:
        raise UsageError("no bucket is given; use --bucket=URL, set BASTION_BUCKET, or choose a profile")
    root = open_bucket(said.value)
    places = [BastionPlace(name, root, PrefixedBucket(root, name)) for name in names(root)]
    found = [_row(place) for place in places if is_known(place)]
    if call.output.json:
        call.output.data({"schema": 1, "bastions": found})
        return DONE
    if found:
        rows = [[str(row[key] or "") for key in _KEYS] for row in found]
        call.output.say("\n".join(table(HEADS, rows, width=call.output.width)))
    else:
        call.output.note(f"there is no bastion in {root.url}; bastion create makes one")
    return DONE


def _row(place: BastionPlace) -> dict[str, Any]:
    status = place.status()
    died = status is not None and host.died(status)
    shown = summary(place.name, status, now=SystemClock().wall(), died=died, full=False)
    return {
        "bastion": place.name,
        "state": shown["state"],
        "host": shown["host"],
        "version": shown["version"],
        "lodging": where.told(place),
    }
