"""The metadata server of a Google machine: its present answer, the next change, and why the machine is about to go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from typing import Any

from bastion.model.errors import RunnerError

from ...worker.interfaces import TerminationNotice

HOST = "169.254.169.254"
_PATH = "/computeMetadata/v1/instance/?recursive=true&alt=json"
_ANSWER_MAX = 4 * 2**20
_SLACK_S = 15.0


class MetadataServer:
    """The client of the metadata server at `host`. Safe for one thread at a time."""

    def __init__(self, host: str = HOST) -> None:
        self._host = host
        self._etag = "0"

    def look(self) -> Mapping[str, Any]:
        """Return all metadata. Raises `RunnerError` if the server does not answer."""
        return self._ask("", _SLACK_S)

    def wait(self, seconds: int) -> Mapping[str, Any]:
        """Return all metadata once they have changed since the last answer, or after `seconds`.

        Raises `RunnerError`.
        """
        query = f"&wait_for_change=true&timeout_sec={seconds}&last_etag={self._etag}"
        return self._ask(query, seconds + _SLACK_S)

    def _ask(self, query: str, limit_s: float) -> Mapping[str, Any]:
        connection = HTTPConnection(self._host, timeout=limit_s)
        try:
            connection.request("GET", _PATH + query, headers={"Metadata-Flavor": "Google"})
            answer = connection.getresponse()
            found = json.loads(answer.read(_ANSWER_MAX))
        except (OSError, HTTPException, ValueError) as error:
            raise RunnerError(f"the metadata server at {self._host} does not answer: {error!r}") from error
        finally:
            connection.close()
        if answer.status != 200 or not isinstance(found, dict):
            raise RunnerError(f"the metadata server at {self._host} answers {answer.status} {answer.reason}")
        self._etag = answer.headers.get("ETag", "0")
        return found


PREEMPTED_S = 20.0
"""The job's grace in seconds, of the 30 s that a preempted machine has left.

The rest is for the end of the log and for the facts.
"""

MAINTAINED_S = 45.0
"""The job's grace in seconds, of the 60 s between notice and maintenance of a host whose machines cannot move."""

MAINTAINED_WITH_GPUS_S = 1800.0
"""The job's grace in seconds on a machine with GPUs, which gets its notice an hour before."""


def farewell(instance: Mapping[str, Any], *, gpus: bool) -> TerminationNotice | None:
    """Return why the machine is about to be taken away; None if it is not.

    A machine that only moves to another host stays.
    """
    if instance.get("preempted") == "TRUE":
        return TerminationNotice("Google preempts this machine", PREEMPTED_S)
    if str(instance.get("maintenanceEvent", "")).startswith("TERMINATE"):
        seconds = MAINTAINED_WITH_GPUS_S if gpus else MAINTAINED_S
        return TerminationNotice("Google stops this machine to maintain its host", seconds)
    return None
