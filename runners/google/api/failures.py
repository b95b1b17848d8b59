"""The meaning of Google's refusals: a status and a text become a kind of `GoogleError`, with what to do next. Pure.

Google reports a refusal in three forms: an HTTP answer, the error of a long-running operation (`google.rpc.Status`),
and the errors of an operation of Compute Engine. All of them become a `Refusal`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .interface import (
    CredentialsMissing,
    GoogleError,
    InvalidCall,
    PermissionMissing,
    QuotaExhausted,
    RateLimited,
    ResourceExists,
    ResourceNotFound,
    Stockout,
)

ROLES = (
    ("tpu.", "roles/tpu.admin"),
    ("compute.networks.", "roles/compute.networkAdmin"),
    ("compute.subnetworks.use", "roles/compute.networkUser"),
    ("compute.", "roles/compute.instanceAdmin.v1"),
    ("iam.serviceAccounts.actAs", "roles/iam.serviceAccountUser"),
    ("iam.", "roles/iam.serviceAccountAdmin"),
    ("resourcemanager.", "roles/resourcemanager.projectIamAdmin"),
    ("artifactregistry.repositories.create", "roles/artifactregistry.admin"),
    ("artifactregistry.", "roles/artifactregistry.writer"),
    ("cloudbuild.", "roles/cloudbuild.builds.editor"),
    ("serviceusage.services.use", "roles/serviceusage.serviceUsageConsumer"),
    ("serviceusage.", "roles/serviceusage.serviceUsageAdmin"),
    ("storage.", "roles/storage.objectUser"),
)
"""The narrowest predefined role for each beginning of a permission. The first that fits counts."""

_NAMES = {
    3: "INVALID_ARGUMENT", 5: "NOT_FOUND", 6: "ALREADY_EXISTS", 7: "PERMISSION_DENIED", 8: "RESOURCE_EXHAUSTED",
    9: "FAILED_PRECONDITION", 12: "UNIMPLEMENTED", 14: "UNAVAILABLE", 16: "UNAUTHENTICATED",
}  # fmt: skip
_STATUSES = {400: 3, 401: 16, 403: 7, 404: 5, 409: 6, 412: 9, 429: 8, 501: 12}
_RATE = re.compile(r"rate.?limit|per.?(minute|second)|(requests|queries) per", re.IGNORECASE)
_STOCK = re.compile(
    r"resource_pool_exhausted|resource_availability|stockout|no more capacity|insufficient (reserved )?capacity|"
    r"does not have enough resources|not enough resources|currently unavailable in",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"quota", re.IGNORECASE)
_PERMISSION = re.compile(
    r"'?\b([a-z]+(?:\.[a-zA-Z]+){2,3})'? (?:permission|denied)|[Pp]ermission '?([a-z]+(?:\.[a-zA-Z]+){2})"
)
_RESOURCE = re.compile(r"(?:resource|for|on) '?((?://)?[\w.-]*/?(?:projects|zones|regions|global)/[^'\s]+)'?")
_SAID_MAX = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A refusal, in one form for all APIs.

    status: the canonical name of the error; or STOCK, QUOTA or RATE, which are more precise.
    said: Google's message in one line, at most 400 characters.
    reason: the reason that the details give; empty if they give none.
    about: the metadata of the details, by name.
    """

    status: str
    said: str
    reason: str = ""
    about: Mapping[str, str] = field(default_factory=dict)

    @property
    def passes(self) -> bool:
        """True if the same call may succeed a moment later."""
        return self.status in ("RATE", "UNAVAILABLE", "ABORTED")


def of_http(code: int, content: bytes) -> Refusal:
    """Return the refusal in an HTTP answer. The body may hold anything, because proxies answer too."""
    try:
        error = json.loads(content)["error"]
        said, status = str(error.get("message", "")), str(error.get("status", ""))
        reasons = [str(one.get("reason", "")) for one in error.get("errors", []) if isinstance(one, dict)]
        details = [one for one in error.get("details", []) if isinstance(one, dict)]
    except (ValueError, KeyError, TypeError, AttributeError):
        said, status, reasons, details = content.decode(errors="replace"), "", [], []
    status = status or _NAMES.get(_STATUSES.get(code, 0), "") or ("UNAVAILABLE" if code >= 500 else "INVALID_ARGUMENT")
    if code >= 500 and code != 501:
        status = "UNAVAILABLE"
    return _refusal(status, said or f"HTTP {code}", " ".join(reasons), details)


def of_status(error: Mapping[str, Any]) -> Refusal:
    """Return the refusal in the `google.rpc.Status` of an operation that failed."""
    details = [one for one in error.get("details") or [] if isinstance(one, Mapping)]
    return _refusal(_NAMES.get(error.get("code", 0), "UNAVAILABLE"), str(error.get("message", "")), "", details)


def of_compute(errors: Mapping[str, Any]) -> Refusal:
    """Return the refusal in the `error` of an operation of Compute Engine: the first of its `errors`."""
    first = next(iter(errors.get("errors") or [{}]))
    code = str(first.get("code", ""))
    status = {"RESOURCE_NOT_FOUND": "NOT_FOUND", "PERMISSIONS_ERROR": "PERMISSION_DENIED"}.get(code, "INVALID_ARGUMENT")
    if code in ("RESOURCE_ALREADY_EXISTS", "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE"):
        status = "ALREADY_EXISTS"
    if code in ("INTERNAL_ERROR", "RESOURCE_NOT_READY", "RESOURCE_OPERATION_RATE_EXCEEDED"):
        status = "UNAVAILABLE"
    details = [one["errorInfo"] for one in first.get("errorDetails") or [] if isinstance(one.get("errorInfo"), Mapping)]
    return _refusal(status, str(first.get("message", "")) or code, code, details)


def _refusal(status: str, said: str, reason: str, details: list[Any]) -> Refusal:
    info: Mapping[str, Any] = next(
        (one for one in details if "reason" in one and ("metadata" in one or "domain" in one)), {}
    )
    about = {str(k): str(v) for k, v in (info.get("metadata") or info.get("metadatas") or {}).items()}
    reason = str(info.get("reason", "")) or reason
    said = " ".join(said.split())[:_SAID_MAX]
    # Google reports a lack of capacity or quota under several statuses, so the words decide.
    exhausted = status in ("RESOURCE_EXHAUSTED", "PERMISSION_DENIED", "INVALID_ARGUMENT")
    if exhausted and _STOCK.search(f"{reason} {said}"):
        status = "STOCK"
    elif status == "RESOURCE_EXHAUSTED" or (
        exhausted and ("uota" in reason or "QUOTA" in reason or _RATE.search(reason))
    ):
        allocation = _QUOTA.search(f"{reason} {said}") and not _RATE.search(f"{about.get('quota_limit', '')} {said}")
        status = "QUOTA" if allocation and not re.search("rateLimit", reason) else "RATE"
    return Refusal(status=status, said=said, reason=reason, about=about)


def failure(refusal: Refusal, what: str, *, who: str = "", project: str = "") -> GoogleError:
    """Return the error for a refusal.

    what: the call that was refused, as in `cannot create queued resource x in us-central2-b`.
    who: the account that made the call; empty if it is not known.
    project: the project whose quota or API the text names.
    """
    said = refusal.said.rstrip(".")
    match refusal.status:
        case "STOCK":
            return Stockout(f"{what}: no capacity there now ({said}); wait, or add a zone to [google] zones")
        case "QUOTA":
            page = f"https://console.cloud.google.com/iam-admin/quotas?project={project}"
            return QuotaExhausted(
                f"{what}: the quota of project {project or '?'} is used up ({said}); ask for more: {page}"
            )
        case "RATE":
            return RateLimited(f"{what}: more requests than Google allows in a minute ({said}); Bastion tries again")
        case "UNAUTHENTICATED":
            return login_failure(what, said, who)
        case "PERMISSION_DENIED":
            return PermissionMissing(f"{what}: {_right(refusal, who, project)}")
        case "NOT_FOUND":
            return ResourceNotFound(f"{what}: it does not exist ({said})")
        case "ALREADY_EXISTS":
            return ResourceExists(f"{what}: it exists already ({said})")
        case "UNAVAILABLE" | "ABORTED":
            return GoogleError(f"{what}: {said}; Bastion tries again")
    return InvalidCall(f"{what}: {said}; a retry cannot help")


def login_failure(what: str, said: str, who: str) -> CredentialsMissing:
    """Return the error for credentials that are missing, or that Google does not accept any more."""
    if who.endswith(".gserviceaccount.com"):
        return CredentialsMissing(
            f"{what}: {who} cannot log in any more ({said}); check that this service account exists and is enabled"
        )
    whose = f"the login of {who}" if who else "the login"
    return CredentialsMissing(
        f"{what}: {whose} is missing or has expired ({said}); run: gcloud auth application-default login"
    )


def short(error: BaseException) -> str:
    """Return the text of a library's error in one line, at most 200 characters."""
    return " ".join(str(error.args[0] if error.args else error).split())[:200] or type(error).__name__


def _right(refusal: Refusal, who: str, project: str) -> str:
    """Name the missing right, the resource and the account, and say how to grant it."""
    whom = who or "our account"
    if refusal.reason == "SERVICE_DISABLED":
        service = refusal.about.get("service", "this API")
        return (
            f"{service} is not enabled in project {project}; run: gcloud services enable {service} --project={project}"
        )
    found = _PERMISSION.search(refusal.said)
    permission = refusal.about.get("permission") or (found and (found[1] or found[2])) or ""
    on = _RESOURCE.search(refusal.said)
    resource = refusal.about.get("resource") or (on[1] if on else f"projects/{project}")
    if not permission:
        return (
            f"{whom} may not do this on {resource} ({refusal.said}); ask the owner of project {project} for the right"
        )
    return f"{whom} lacks {permission} on {resource}; {_grant(permission, resource, whom, project)}"


def _grant(permission: str, resource: str, who: str, project: str) -> str:
    role = next((role for prefix, role in ROLES if permission.startswith(prefix)), "a role that has it")
    kind = "serviceAccount" if who.endswith(".gserviceaccount.com") else "user"
    member = f"{kind}:{who}" if "@" in who else "MEMBER"
    account = re.search(r"serviceAccounts/([^/\s]+)", resource)
    verb = (
        f"iam service-accounts add-iam-policy-binding {account[1]}"
        if account
        else f"projects add-iam-policy-binding {project}"
    )
    return f"run: gcloud {verb} --member={member} --role={role}"
