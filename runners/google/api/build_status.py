"""The status of a build in Cloud Build: whether it has ended, what it made, and why it failed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bastion.model.interfaces import BuildResult
from bastion.model.job.image_ref import split
from bastion.model.wording import one_line

TAG = "bastion"
"""The tag of every build that we start, so that one listing shows them all."""

LIVE = frozenset({"STATUS_UNKNOWN", "PENDING", "QUEUED", "WORKING"})
"""The statuses of a build that has not ended."""
_SAID_MAX = 300


def ended(build: Mapping[str, Any]) -> BuildResult | None:
    """Return how a build ended; None while it has not. A digest of the wrong length is left out."""
    status = str(build.get("status") or "STATUS_UNKNOWN")
    if status in LIVE:
        return None
    if status != "SUCCESS":
        return BuildResult(images={}, problem=problem(build))
    made = (build.get("results") or {}).get("images") or []
    digests = {split(str(one.get("name", "")))[0]: str(one.get("digest", "")) for one in made}
    return BuildResult(images={name: text.removeprefix("sha256:") for name, text in digests.items() if len(text) == 71})


def problem(build: Mapping[str, Any]) -> str:
    """Return why a build failed, in one line: its status, then Google's explanation."""
    words = (build.get("failureInfo") or {}).get("detail"), build.get("statusDetail")
    said = next((str(word) for word in words if word), "")
    return one_line(": ".join(filter(None, (str(build.get("status")), said))), _SAID_MAX)
