"""Requests per minute: the quotas of the APIs themselves, filled up anew at the beginning of every minute."""

from __future__ import annotations

from collections import Counter

from tests.google.fake.discovery import Method
from tests.google.fake.refusals import Refusal, info

COMPUTE_PER_MINUTE = 1500
"""https://cloud.google.com/compute/docs/api-rate-limits: per project, by region, of each group."""

OTHERS_PER_MINUTE = {
    # None of these is on a public page; a project's own are on its quota page. Beliefs, on the low side.
    "tpu": 300,
    "tpu Creations": 90,
    "tpu Writes": 90,
    "cloudbuild": 300,
    "artifactregistry": 600,
    "iam": 600,
    "cloudresourcemanager": 600,
    "serviceusage": 240,
    "storage": 1200,
}


class Rates:
    """Counts requests, and refuses those that are too many."""

    def __init__(self) -> None:
        self.most: dict[str, int] = {"compute": COMPUTE_PER_MINUTE} | OTHERS_PER_MINUTE
        self.refused = 0
        self._minute = -1
        self._counts: Counter[tuple[str, ...]] = Counter()

    def count(self, now: float, service: str, method: Method, parameters: dict[str, object]) -> None:
        """One request more. Raises `Refusal`: 403 from Compute Engine, 429 from all others."""
        if self._minute != int(now // 60):
            self._minute = int(now // 60)
            self._counts.clear()
        group = _group(method) if service == "compute" else _kind(method)
        key = (service, str(parameters.get("project", "")), _place(parameters), group)
        self._counts[key] += 1
        most = self.most.get(f"{service} {group}", self.most[service])
        if self._counts[key] <= most:
            return
        self.refused += 1
        host = f"{service}.googleapis.com"
        text = f"Quota exceeded for quota metric '{group}' and limit '{group} per minute' of service '{host}'"
        text += " for consumer 'project_number:1'."
        detail = info("RATE_LIMIT_EXCEEDED", "googleapis.com", service=host, quota_limit_value=str(most))
        raise Refusal(403 if service == "compute" else 429, text, reason="rateLimitExceeded", details=[detail])


def _kind(method: Method) -> str:
    return "Reads" if method.verb == "GET" else "Creations" if method.verb_name == "create" else "Writes"


def _group(method: Method) -> str:
    if method.collection.endswith("Operations"):
        return "Operation read requests"
    if method.verb_name in ("list", "aggregatedList"):
        return "List requests"
    return "Read requests" if method.verb == "GET" else "Queries"


def _place(parameters: dict[str, object]) -> str:
    zone = str(parameters.get("zone", ""))
    return str(parameters.get("region", "")) or zone.rpartition("-")[0]
