"""Check a store before a bastion uses it, with real requests: create twice, race and swap. Its name proves nothing."""

from __future__ import annotations

from collections.abc import Iterable

from bastion.model.errors import BastionError
from bastion.model.interfaces import Bucket, Ids
from bastion.model.settings.config import Config
from bastion.stores.conformance.bench import Check
from bastion.stores.conformance.suite import EXCLUSIVE, LEADERSHIP, QUICK, UNSAFE, prove
from bastion.stores.opening import PrefixedBucket, open_bucket

PREFIX = "doctor-"
"""The prefix of a check's place in a bucket. After the check the place is empty, and so gone."""


def admit(root: Bucket, config: Config, ids: Ids, *, old: Config | None) -> None:
    """Check the private bucket of a new bastion, and each other bucket that is new to it.

    A missing folder is made. Raises `BastionError` with the reason if one is unfit, and `BucketNotFound`, `AccessDenied`.
    """
    if old is None:
        _admit(root, LEADERSHIP, ids)
    known = {root.url, *(old.buckets.values() if old else ())}
    for url in sorted(set(config.buckets.values()) - known):
        _admit(open_bucket(url, create=True), EXCLUSIVE, ids)


def _admit(bucket: Bucket, checks: Iterable[Check], ids: Ids) -> None:
    place = f"{PREFIX}{ids.new()[:12]}"
    for found in prove(lambda: PrefixedBucket(bucket, place), checks, QUICK):
        if not found.problem:
            continue
        refused = f"{found.promise} It does not: {found.problem}; {UNSAFE}" if found.broken else found.problem
        raise BastionError(f"{bucket.url} cannot hold a bastion: {refused}")
