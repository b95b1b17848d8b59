"""The login to Google: the application default credentials, an access token, and the project that they name."""

from __future__ import annotations

from typing import Any

from bastion.model.errors import UsageError

from .failures import login_failure, short
from .interface import SCOPE


def default_credentials() -> tuple[Any, str]:
    """Return google-auth's credentials, and the project that they name; empty if they name none.

    Raises google-auth's `GoogleAuthError` if there are none.
    """
    import google.auth

    found, project = google.auth.default(scopes=[SCOPE])
    return found, project or ""


def fresh_token(credentials: Any) -> str:
    """Return a new access token for google-auth's credentials. Raises `GoogleAuthError`."""
    from google.auth.transport.requests import Request

    credentials.refresh(Request())
    return str(credentials.token)


def access_token() -> str:
    """Return a token of the default credentials, for a registry.

    Raises `CredentialsMissing`; `UsageError` without google-auth.
    """
    what = "logging in to the registry"
    credentials, _ = _found(what)
    from google.auth.exceptions import GoogleAuthError

    try:
        return fresh_token(credentials)
    except GoogleAuthError as error:
        who = str(getattr(credentials, "service_account_email", "") or "")
        raise login_failure(what, short(error), who) from error


def default_project() -> str:
    """Return the project that the credentials name; empty if they name none. Raises as `access_token` does."""
    return _found("looking for the project")[1]


def _found(what: str) -> tuple[Any, str]:
    """Return the default credentials and their project.

    If there are none, the error says that `what` cannot be done.
    """
    try:
        from google.auth.exceptions import GoogleAuthError
    except ImportError:
        raise UsageError("Google Cloud needs more packages; run: pip install 'bastion-scheduler[gcp]'") from None
    try:
        return default_credentials()
    except GoogleAuthError as error:
        raise login_failure(what, short(error), "") from error
