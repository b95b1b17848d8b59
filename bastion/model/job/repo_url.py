"""Rules for the URLs of git repositories in a spec: no password, and nothing that git would run. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..wording import shown

URL_MAX = 1024
FOLDER_MAX = 512
COMMIT = re.compile(r"[0-9a-f]{40}")

_URL = re.compile(
    r"(?P<scheme>https?|ssh|git|file)://(?:(?P<user>[^@/]*)@)?(?P<host>(?:[^@/:\[\]]+|\[[0-9a-f:]+\])?)(?::[0-9]{1,5})?(?P<path>/.*)?"
)
_SCP = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._-]*@)?[A-Za-z0-9_][A-Za-z0-9._-]*:[^-:].*")
_USE = "use https://host/path, ssh://git@host/path, git@host:path or file:///path"


def fault(url: str) -> str | None:
    """Return what is wrong with a repository's URL; None if it may be written where everybody reads it.

    The text never repeats what may be a password.
    """
    if not url or len(url) > URL_MAX or url.startswith("-") or re.search(r"[\x00-\x20\x7f]", url):
        return f"is empty, longer than {URL_MAX}, begins with '-' or holds blanks; {_USE}"
    match = _URL.fullmatch(url)
    if match is None:
        return (
            None
            if "://" not in url and "@" not in url.partition(":")[2] and _SCP.fullmatch(url)
            else f"is not a URL that git can fetch from; {_USE}"
        )
    if _tells_a_secret(match):
        return (
            "contains a user, password or token, which everybody could read in the spec;"
            " leave it out, and ask an admin to set a deploy key under [git] of the bastion's config.toml"
        )
    if match["host"].startswith("-") or not match["path"] or bool(match["host"]) == (match["scheme"] == "file"):
        return f"names no host or no path; {_USE}"
    return None


def faults(url: str, commit: str, folder: str) -> Iterator[str]:
    """Check a folder of a commit of a repository; yield complaints."""
    if wrong := fault(url):
        yield f"repo {wrong}"
    if not COMMIT.fullmatch(commit):
        yield f"commit is {shown(commit)}; use the full name of a commit, 40 hexadecimal digits"
    parts = folder.split("/") if folder else []
    if len(folder) > FOLDER_MAX or "\0" in folder or any(part in {"", ".", "..", ".git"} for part in parts):
        yield f"folder is {shown(folder)}; use a path within the repository"


def _tells_a_secret(match: re.Match[str]) -> bool:
    """Return True if the URL may hold a secret.

    An ssh user is part of the address. A user of a web URL, a password or a query may be a secret.
    """
    user = match["user"]
    if "?" in (match["path"] or ""):
        return True
    return user is not None and (match["scheme"] != "ssh" or ":" in user or user.startswith("-"))
