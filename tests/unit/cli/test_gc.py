"""What `bastion gc` finds old is old when it is removed, also where somebody uploads a bundle meanwhile."""

from __future__ import annotations

from datetime import datetime, timedelta

from bastion.cli.bastion.gc import expired
from bastion.platform.system import SystemClock, ThreadTasks
from bastion.stores.expiry import RetentionDays
from tests.support.doors import NOON, FaultyBucket, memory, works

BUNDLE = f"bundles/{'a' * 64}.tar.zst"
TERM = RetentionDays(bundles_days=30, logs_days=0, outputs_days=0)


class Clock(SystemClock):
    """A month and ten days after the bundle came."""

    def wall(self) -> datetime:
        return NOON + timedelta(days=40)


def test_a_bundle_that_is_uploaded_again_meanwhile_stays() -> None:
    now = [NOON]
    bucket = FaultyBucket(memory(lambda: now[0]))
    bucket.create(BUNDLE, b"bundle")
    assert [stat.key for stat in expired(bucket, TERM, Clock(), ThreadTasks())] == [BUNDLE]

    def uploads(_verb: str, _key: str) -> None:
        now[0] += timedelta(days=40)
        bucket.inner.replace(BUNDLE, b"bundle", bucket.inner.read(BUNDLE).version)

    first = len(bucket.calls)
    bucket.faults = [works, uploads]  # after the first listing of the bundles
    assert expired(bucket, TERM, Clock(), ThreadTasks()) == []
    assert bucket.calls[first] == ("list", "bundles/")
