"""Where credentials are made good: access tokens for those who sign as an account."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.google.fake.cloud import Cloud

LASTS_S = 3599


def answer(cloud: Cloud, path: str, said: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
    """Status and body. `token` gives a token, `tokeninfo` tells whose one is."""
    if path == "token":
        account = _signing(said.get("assertion", ""))
        if cloud.faults.expired or not account:
            return 400, {"error": "invalid_grant", "error_description": "Token has been expired or revoked."}
        return 200, {"access_token": new_token(cloud, account), "expires_in": LASTS_S, "token_type": "Bearer"}
    if path == "tokeninfo":
        account = cloud.tokens.get(said.get("access_token", ""), "")
        if cloud.faults.expired or not account:
            return 400, {"error": "invalid_token", "error_description": "Invalid Value"}
        return 200, {"email": account, "email_verified": "true", "expires_in": str(LASTS_S)}
    return 404, {"error": "not_found"}


def new_token(cloud: Cloud, account: str) -> str:
    """An access token of an account."""
    token = f"ya29.fake-{cloud.new_id()}"
    cloud.tokens[token] = account
    return token


def key_of(account: str, url: str, project: str) -> dict[str, str]:
    """A service account's key as IAM gives it, for tokens from this URL. People's logins work the same but for their URL."""
    pem = _key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    about = {"client_email": account, "client_id": "1", "project_id": project, "private_key_id": "1"}
    return {"type": "service_account", "token_uri": url, "private_key": pem, **about}


@cache
def _key() -> RSAPrivateKey:
    return generate_private_key(public_exponent=65537, key_size=2048)


def _signing(assertion: str) -> str:
    """Who has signed: the signature itself is not looked at."""
    body = assertion.split(".")[1] if assertion.count(".") == 2 else ""
    return str(json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))["iss"]) if body else ""
