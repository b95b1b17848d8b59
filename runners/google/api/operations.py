"""Long-running operations of Google's APIs: wait until one has ended, and raise its error if it failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import failures
from .interface import Answer, Google, GoogleError

_WAITS, _PAUSE_S = 60, 5.0
"""The largest number of questions about one operation, and the pause before each of them in seconds.

Compute Engine needs no pause: each question waits there for up to two minutes. Other services answer at once.
"""


def finish(google: Google, service: str, operation: Answer, /, **where: Any) -> Answer:
    """Return the operation once it has ended. An answer that is no operation counts as ended.

    `where` holds the parameters of the call that started it. Raises `GoogleError` if the operation failed or does not
    end.
    """
    for _ in range(_WAITS):
        if not _is_running(operation):
            break
        operation = _ask(google, service, operation, where)
    else:
        raise GoogleError(f"the operation {operation.get('name')} does not end; look at it in Google's console")
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
