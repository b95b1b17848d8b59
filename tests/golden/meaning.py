"""What a recorded bucket means, as plain values, and how it is kept in a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from bastion.journal import recover
from bastion.journal.tombstones import Tombstone
from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.interfaces import Bucket
from bastion.model.job.spec import written_out
from bastion.model.settings import config
from bastion.model.stored.records import Claim, Facts, Order, Peers, StopOrder
from bastion.model.stored.requests import parse
from bastion.model.stored.status import Status
from bastion.stores.memory import MemoryBucket

HERE = Path(__file__).parent
BUCKET, FORMS, MEANING = "bucket", "forms.json", "meaning.json"

_KINDS: dict[str, Any] = {"order.json": Order, "stop.json": StopOrder, "world.json": Peers}


def recordings() -> list[Path]:
    """The folders of all versions, the oldest first; what `0.1.0a1`, `b1` and `c1` wrote comes before what `0.1.0` did."""
    found = (folder for folder in HERE.iterdir() if (folder / FORMS).exists())
    return sorted(found, key=lambda folder: _age(folder.name))


def _age(version: str) -> tuple[int, ...]:
    number, stage, early = re.fullmatch(r"([0-9.]+)([abc]?)([0-9]*)", version).groups()  # type: ignore[union-attr]
    return (*map(int, number.split(".")), {"a": -3, "b": -2, "c": -1, "": 0}[stage], int(early or 0))


def fresh() -> MemoryBucket:
    """An empty bucket that nobody else has."""
    return MemoryBucket(f"memory://{uuid4()}")


def keep(bucket: Bucket, folder: Path) -> None:
    """Lay a bucket's objects out as files."""
    for stat in bucket.list(""):
        file = folder / BUCKET / stat.key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bucket.read(stat.key).data)


def found(folder: Path, *, snapshots: bool = True) -> MemoryBucket:
    """The same the other way round."""
    bucket = fresh()
    for file in sorted((folder / BUCKET).rglob("*")):
        key = str(file.relative_to(folder / BUCKET))
        if file.is_file() and (snapshots or not layout.is_snapshot(key)):
            bucket.create(key, file.read_bytes())
    return bucket


def meaning(bucket: Bucket) -> dict[str, Any]:
    """The state that the journal tells, and every other object as we read it."""
    told = {stat.key: _read(bucket, stat.key) for stat in bucket.list("")}
    state = _plain(recover.load(bucket))
    return {"state": state, **{key: value for key, value in told.items() if value is not None}}


def lost(before: Any, now: Any, path: str = "") -> list[str]:
    """What was said before and is not said now. More may be said."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        return [line for key, value in before.items() for line in lost(value, now.get(key), f"{path}/{key}")]
    return [] if before == now else [f"{path} was {before!r}, and is {now!r}"]


def _read(bucket: Bucket, key: str) -> Any:
    if key.startswith((layout.JOURNAL, layout.SNAPSHOTS)) or key == layout.QUOTA:
        return None  # read by who loads the state, and by the quota file's own tests
    data = bucket.read(key).data
    if key == layout.CONFIG:
        return _plain(written_out(config.parse(data)))
    if key.startswith(layout.INBOX):
        return _plain(parse(data))
    return _plain(written_out(decode(data, _kind(key), key)))


def _kind(key: str) -> Any:
    if key == layout.STATUS:
        return Status
    by_prefix = {layout.ENDED: Tombstone, layout.CLAIMS: Claim, layout.FACTS: Facts}
    prefixed = next((kind for prefix, kind in by_prefix.items() if key.startswith(prefix)), None)
    return prefixed or _KINDS[key.rpartition("/")[2]]


def _plain(value: Any) -> Any:
    return json.loads(encode(value))
