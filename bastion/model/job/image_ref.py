"""Names of container images, and the rule for those in a spec: whole names, pinned by a digest. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..wording import shown

NAME_MAX = 255
DIGEST = re.compile(r"[0-9a-f]{64}")
BUILD = re.compile(
    r"projects/(?P<project>[a-z0-9][a-z0-9.:-]{0,62})/locations/(?P<location>[a-z0-9-]{1,40})/builds/(?P<id>[A-Za-z0-9-]{1,64})"
)
"""The permanent name that Cloud Build gives to a build."""

_HOST = re.compile(r"[A-Za-z0-9]+(?:[.-]+[A-Za-z0-9]+)*(?::[0-9]{1,5})?")
_PATH = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*")
TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_USE = "use host/path/name in lower-case letters, digits, '.', '_' and '-'"


def host_of(name: str) -> str:
    """Return the registry that a name begins with; empty if there is none.

    A registry is a first part that has a dot or a port, or is localhost.
    """
    first, slash, _ = name.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else ""


def split(text: str) -> tuple[str, str]:
    """Split `host:5000/path/name:tag` into name and tag; the tag is empty if there is none."""
    name, colon, tag = text.rpartition(":")
    return (name, tag) if colon and "/" not in tag else (text, "")


def fault(name: str) -> str | None:
    """Return what is wrong with the whole name of an image, without tag and digest; None if it is fine."""
    host = host_of(name)
    if len(name) > NAME_MAX:
        return f"has {len(name)} characters; at most {NAME_MAX} are allowed"
    if "@" in name:
        return f"is {shown(name)}, with a digest or a user; leave them out: the build adds the digest"
    if split(name)[1]:
        return f"is {shown(name)}, with a tag; leave it out: the build adds the digest"
    if not host:
        return (
            f"is {shown(name)}, which names no registry; {_USE} (docker.io/{name[:64] or 'team/name'} is Docker's own)"
        )
    if not _HOST.fullmatch(host) or not _PATH.fullmatch(name[len(host) + 1 :]):
        return f"is {shown(name)}; {_USE}"
    return None


def log_link(build: str) -> str:
    """Return the URL of a build's log, for people; the text itself if it names no build."""
    found = BUILD.fullmatch(build)
    if found is None:
        return build
    home = "https://console.cloud.google.com/cloud-build/builds"
    return f"{home};region={found['location']}/{found['id']}?project={found['project']}"


def faults(name: str, digest: str, build: str) -> Iterator[str]:
    """Check an image of a spec: pinned by its manifest's digest, or by the build that makes it. Yield complaints."""
    if wrong := fault(name):
        yield f"image {wrong}"
    if build and not BUILD.fullmatch(build):
        yield f"build is {shown(build)}; use projects/PROJECT/locations/LOCATION/builds/ID"
    if not DIGEST.fullmatch(digest) and (digest or not build):
        yield f"digest is {shown(digest)}; use the SHA-256 of the image's manifest in hexadecimal"
