"""Find the credentials for a store, and their source. No secret is shown: only the last four characters of a key.

The store's client is asked for the credentials that it would use. Nothing is sent to the store itself, but the client
may ask the metadata server of the machine.
"""

from __future__ import annotations

import getpass
import os
import stat
from collections.abc import Mapping

from bastion.model.errors import AccessDenied, UsageError
from bastion.runners.google.api.login import default_credentials

Rows = dict[str, str]


def credentials(url: str, environ: Mapping[str, str]) -> Rows:
    """Return the credentials in force for this URL, as rows.

    Raises `AccessDenied` if there are none, `UsageError` without a package.
    """
    scheme = url.partition("://")[0]
    if scheme == "gs":
        return _google(url, environ)
    if scheme == "s3":
        return _s3(url, environ)
    if scheme == "file":
        return _folder(url.removeprefix("file://"))
    if scheme == "memory":
        return {"source": "none: it is this process's own memory"}
    return {"source": f"what the package of fsspec for {scheme}:// finds; see its documentation"}


def _google(url: str, environ: Mapping[str, str]) -> Rows:
    if emulator := environ.get("STORAGE_EMULATOR_HOST"):
        return {"source": "none: an emulator needs none", "endpoint": f"{emulator} (STORAGE_EMULATOR_HOST)"}
    from google.auth._cloud_sdk import get_application_default_credentials_path
    from google.auth.exceptions import GoogleAuthError

    try:
        found, project = default_credentials()
    except GoogleAuthError as error:
        raise AccessDenied(f"{url}: {_line(error)}; run: gcloud auth application-default login") from error
    file = environ.get("GOOGLE_APPLICATION_CREDENTIALS")
    known = str(get_application_default_credentials_path())  # type: ignore[no-untyped-call]
    source = f"{file} (GOOGLE_APPLICATION_CREDENTIALS)" if file else known
    if not file and not os.path.exists(known):
        source = "the metadata server of this machine"
    words = ("service_account_email", "account", "_target_principal")
    accounts = (getattr(found, word, None) for word in words)
    return {
        "source": source,
        "kind": f"{type(found).__module__}.{type(found).__name__}".removeprefix("google."),
        "account": next((str(name) for name in accounts if name), "not stated there"),
        "project": str(getattr(found, "quota_project_id", None) or project or "none"),
    }


def _s3(url: str, environ: Mapping[str, str]) -> Rows:
    try:
        from botocore import session
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise UsageError(f'{url} needs a package; run: pip install "bastion-scheduler[s3]"') from error

    try:
        here = session.Session()
        found = here.get_credentials()
        role = here.get_scoped_config().get("role_arn")
    except BotoCoreError as error:
        raise AccessDenied(f"{url}: {_line(error)}; run: aws configure, or aws sso login") from error
    if found is None:
        raise AccessDenied(f"{url}: no credentials of AWS; run: aws configure, or aws sso login")
    endpoint = environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL")
    rows = {
        "source": _METHODS.get(found.method, found.method),
        "profile": here.get_config_variable("profile") or "default",
        "key": f"ends in {str(found.access_key)[-4:]}{', with a session token' if found.token else ''}",
        "region": here.get_config_variable("region") or "none",
    }
    return rows | ({"role": role} if role else {}) | ({"endpoint": endpoint} if endpoint else {})


_METHODS = {
    "env": "the environment (AWS_ACCESS_KEY_ID)",
    "shared-credentials-file": "the credentials file of AWS",
    "config-file": "the config file of AWS",
    "iam-role": "the role of this machine",
    "container-role": "the role of this container",
    "assume-role": "a role that is assumed",
    "assume-role-with-web-identity": "a role that is assumed with a web identity",
    "sso": "a login by aws sso",
}


def _folder(path: str) -> Rows:
    try:
        found = os.stat(path)
    except OSError as error:
        raise AccessDenied(
            f"file://{path}: {(error.strerror or '').lower()}; make the folder, or ask for the right"
        ) from error
    rights = ((os.R_OK, "read"), (os.W_OK, "write"), (os.X_OK, "enter"))
    allowed = ", ".join(word for right, word in rights if os.access(path, right))
    return {
        "source": "the account of this process",
        "account": f"{getpass.getuser()} (uid {os.geteuid()})",
        "rights": f"{allowed or 'none'}; the folder is {stat.filemode(found.st_mode)} of uid {found.st_uid}",
    }


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
