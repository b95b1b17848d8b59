"""Who we are to Google, for what is no API of its discovery documents: a token, and the project that goes with it."""

from __future__ import annotations

from typing import Any

from bastion.errors import UsageError
from bastion.google.door import SCOPE
from bastion.google.failures import login_failure


def access_token() -> str:
    """A fresh access token of the application default credentials. Raises `NoLogin`, `UsageError` without google-auth."""
    credentials, _ = _default("logging in to the registry")
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import Request

    try:
        credentials.refresh(Request())
    except GoogleAuthError as error:
        who = str(getattr(credentials, "service_account_email", "") or "")
        raise login_failure("logging in to the registry", _short(error), who) from error
    return str(credentials.token)


def default_project() -> str:
    """The project that the credentials name; empty if they name none. Raises as `access_token`."""
    return _default("looking for the project")[1] or ""


def _default(what: str) -> tuple[Any, str | None]:
    try:
        import google.auth
        from google.auth.exceptions import GoogleAuthError
    except ImportError:
        raise UsageError("Google Cloud needs more packages; run: pip install 'bastion-scheduler[gcp]'") from None
    try:
        found: tuple[Any, str | None] = google.auth.default(scopes=[SCOPE])
    except GoogleAuthError as error:
        raise login_failure(what, _short(error), "") from error
    return found


def _short(error: BaseException) -> str:
    return " ".join(str(error.args[0] if error.args else error).split())[:200]
