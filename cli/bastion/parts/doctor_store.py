"""`bastion doctor --store`: try every promise of a bucket on a user's store.

The checks use a fresh place, which is removed afterwards.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from bastion.model.errors import ObjectNotFound
from bastion.platform.system import RandomIds
from bastion.stores.conformance.suite import CHECKS, HANDY, CheckResult, prove
from bastion.stores.opening import open_bucket

from ...terminal.flags import Options
from ...terminal.main import DONE, FAILED, Call
from .store_check import PREFIX


def run(call: Call[Options], url: str) -> int:
    """Return 0 when the store keeps every promise. Raises `BucketNotFound`, `AccessDenied`, `UsageError`."""
    root = open_bucket(url)
    with suppress(ObjectNotFound):
        root.read("config.toml")  # raises if there is no such store, or if we may not read it
    found = []
    with _place(root.url) as place:
        for finding in prove(lambda: open_bucket(place, create=True), CHECKS, HANDY):
            found.append(finding)
            if not call.output.json:
                call.output.say("\n".join(lines(finding)))
    broken = [finding for finding in found if finding.problem]
    if call.output.json:
        rows = [
            {
                "level": "failed" if f.problem else "ok",
                "check": f.name,
                "promise": f.promise,
                "found": f.problem,
                "advice": f.advice,
            }
            for f in found
        ]
        call.output.data({"schema": 1, "store": root.url, "well": not broken, "checks": rows})
    else:
        verdict = f"breaks {len(broken)} of {len(found)} promises" if broken else f"keeps all {len(found)} promises"
        call.output.say(f"{root.url} {verdict}")
    return FAILED if broken else DONE


def lines(finding: CheckResult) -> list[str]:
    """Return the lines for people."""
    if not finding.problem:
        return [f"ok       {finding.promise}"]
    return [f"failed   {finding.promise}", f"         {finding.problem}", f"         -> {finding.advice}"]


@contextmanager
def _place(url: str) -> Iterator[str]:
    """Yield a fresh place below the URL.

    At the end, it is removed: the checks leave a folder empty, but do not remove it.
    """
    place = f"{url.rstrip('/')}/{PREFIX}{RandomIds().new()[:12]}"
    try:
        yield place
    finally:
        if place.startswith("file://"):
            shutil.rmtree(place.removeprefix("file://"), ignore_errors=True)
