"""Long-running operations of Google's APIs: waiting until one has ended, and what it says if it failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import failures
from .interface import Answer, Google, GoogleError

_WAITS, _PAUSE_S = 60, 5.0
"""Each question waits up to two minutes at Compute Engine; others answer at once, and are asked again after a pause."""


def finish(google: Google, service: str, operation: Answer, /, **where: Any) -> Answer:
    """Return the operation once it has ended; what is no operation has. Raises `GoogleError` if it failed, or hangs.

    `where` are the parameters of the call that began it.
    """
    for _ in range(_WAITS):
        if not _is_running(operation):
            break
        operation = _ask(google, service, operation, where)
    else:
        raise GoogleError(f"the operation {operation.get('name')} does not end; see it in Google's console")
    if error := operation.get("error"):
        refusal = failures.of_compute(error) if service == "compute" else failures.of_status(error)
        what = f"{operation.get('operationType', service)} {str(operation.get('targetLink', '')).rpartition('/')[2]}"
        raise failures.failure(refusal, what.strip(), project=str(where.get("project", "")))
    return operation


def _is_running(operation: Mapping[str, Any]) -> bool:
    if str(operation.get("kind", "")) == "compute#operation":
        return operation.get("status") != "DONE"
    return "name" in operation and operation.get("done") is False


def _ask(google: Google, service: str, operation: Answer, where: Mapping[str, Any]) -> Answer:
    name = operation["name"]
    if service != "compute":
        google.rest(_PAUSE_S)
        return google.call(f"{service}.operations.get", name=name)
    if "zone" in where:
        return google.call("compute.zoneOperations.wait", project=where["project"], zone=where["zone"], operation=name)
    region = {"project": where["project"], "region": where["region"]}
    return google.call("compute.regionOperations.wait", **region, operation=name)
