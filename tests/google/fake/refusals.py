"""Refusals, in the two shapes that Google gives them: Compute Engine's older one, and that of all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
REASON = {
    400: "invalid",
    401: "required",
    403: "forbidden",
    404: "notFound",
    409: "alreadyExists",
    412: "conditionNotMet",
    429: "rateLimitExceeded",
    500: "internalError",
    501: "notImplemented",
    503: "backendError",
    504: "backendError",
}
CODES = {
    "CANCELLED": 1,
    "INVALID_ARGUMENT": 3,
    "DEADLINE_EXCEEDED": 4,
    "NOT_FOUND": 5,
    "ALREADY_EXISTS": 6,
    "PERMISSION_DENIED": 7,
    "RESOURCE_EXHAUSTED": 8,
    "FAILED_PRECONDITION": 9,
    "ABORTED": 10,
    "UNIMPLEMENTED": 12,
    "INTERNAL": 13,
    "UNAVAILABLE": 14,
    "UNAUTHENTICATED": 16,
}
"""google.rpc.Code, as it is in the error of an operation."""


class Refusal(Exception):
    """A request is answered with an error. `reason` is Compute's word, `status` that of the others."""

    def __init__(
        self, code: int, message: str, *, reason: str = "", status: str = "", details: Sequence[dict[str, Any]] = ()
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.details = code, message, list(details)
        self.reason = reason or REASON.get(code, "backendError")
        self.status = status or STATUS.get(code, "UNKNOWN")

    def body(self, service: str) -> dict[str, Any]:
        """The error as that service writes it."""
        said: dict[str, Any] = {"code": self.code, "message": self.message}
        if service == "compute":
            domain = "usageLimits" if self.reason in ("rateLimitExceeded", "quotaExceeded") else "global"
            said["errors"] = [{"message": self.message, "domain": domain, "reason": self.reason}]
        if service != "compute" or self.details:
            said["status"] = self.status
        if self.details:
            said["details"] = self.details
        return {"error": said}


def info(reason: str, domain: str, **metadata: str) -> dict[str, Any]:
    """A detail of an error: google.rpc.ErrorInfo."""
    return {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "domain": domain,
        "metadata": metadata,
    }


def violations(*said: tuple[str, str]) -> dict[str, Any]:
    """A detail of an error: google.rpc.BadRequest, by field and description."""
    listed = [{"field": field, "description": text} for field, text in said]
    return {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": listed}


def status(name: str, message: str, *details: dict[str, Any]) -> dict[str, Any]:
    """The error of an operation or a resource: google.rpc.Status."""
    said: dict[str, Any] = {"code": CODES[name], "message": message}
    return said | ({"details": list(details)} if details else {})
