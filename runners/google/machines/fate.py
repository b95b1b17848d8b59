"""What becomes of a machine of Google's, by what its metadata server says. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...worker.doors import Farewell

PREEMPTED_S = 20.0
"""Of the 30 s that a preempted machine has left; the rest is for the end of the log and for the facts."""

MAINTAINED_S = 45.0
"""Of the 60 s between the notice and the maintenance of a host whose machines cannot move."""

MAINTAINED_WITH_GPUS_S = 1800.0
"""Machines with GPUs are told an hour before."""


def farewell(instance: Mapping[str, Any], *, gpus: bool) -> Farewell | None:
    """Why the machine is about to be taken away, if it is. A machine that only moves to another host stays."""
    if instance.get("preempted") == "TRUE":
        return Farewell("Google preempts this machine", PREEMPTED_S)
    if str(instance.get("maintenanceEvent", "")).startswith("TERMINATE"):
        seconds = MAINTAINED_WITH_GPUS_S if gpus else MAINTAINED_S
        return Farewell("Google takes this machine away, to maintain its host", seconds)
    return None
