"""The login of this machine to an image registry: from its Docker settings, or a token of its own service account."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from pathlib import Path

from bastion.model.errors import BundleError

from ..api.failures import short
from ..api.login import default_credentials, fresh_token

_GOOGLES = re.compile(r"([a-z0-9-]+-docker\.pkg\.dev|([a-z]+\.)?gcr\.io)")


def login(host: str, environ: Mapping[str, str]) -> Mapping[str, str] | None:
    """Return the login for the registry at `host`, in the form of Docker's API; None if there is none.

    Raises `BundleError`.
    """
    known = _known(host, Path(environ.get("DOCKER_CONFIG") or Path(environ.get("HOME", "/"), ".docker"), "config.json"))
    return _google(host) if known is None and _GOOGLES.fullmatch(host) else known


def _known(host: str, settings: Path) -> Mapping[str, str] | None:
    """Return the name and password that `docker login` stored; None if it stored none."""
    try:
        name, _, word = (
            base64.b64decode(json.loads(settings.read_bytes())["auths"][host]["auth"]).decode().partition(":")
        )
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return {"username": name, "password": word, "serveraddress": host}


def _google(host: str) -> Mapping[str, str]:
    """Return a login with a token of the account that this machine has at Google. Raises `BundleError`."""
    from google.auth.exceptions import GoogleAuthError

    try:
        token = fresh_token(default_credentials()[0])
    except GoogleAuthError as error:
        raise BundleError(
            f"this machine has no credentials for {host}: {short(error)}; give it a service account"
        ) from error
    return {"username": "oauth2accesstoken", "password": token, "serveraddress": host}
