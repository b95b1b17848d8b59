"""Where the code of a job is, and the rules of that reference. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..wording import shown
from . import image_ref as image
from . import repo_url as repo
from .alternatives import KIND


class BundleRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The code that the worker has to fetch. `type` none needs nothing.

    Of `tar`, `key` names an object and `digest` its SHA-256; of `git` these are the changes on top of `commit` of `repo`,
    if there are any. A commit is checked out whole, and the command runs in `folder` of it. `submodules`: whether they are
    fetched; None refuses a commit that has some. Of `image`, `image` is the name in a registry without a tag, and `digest`
    that of its manifest; empty while `build`, of Cloud Build, has yet to make it.
    """

    type: str = "none"
    key: str = ""
    digest: str = ""
    repo: str = ""
    commit: str = ""
    folder: str = ""
    submodules: bool | None = None
    image: str = ""
    build: str = ""

    @property
    def identity(self) -> str:
        """One word for the code: the digest; of git the commit, `+` and the digest of the changes if there are any."""
        return "+".join(filter(None, (self.commit, self.digest)))

    @property
    def pinned(self) -> str:
        """An image as an engine is asked for it: `host/path/name@sha256:…`; "" for code that comes otherwise."""
        return f"{self.image}@sha256:{self.digest}" if self.type == "image" else ""


def faults(value: BundleRef) -> Iterator[str]:
    """Say what is wrong with a reference to code."""
    if value.type == "none":
        return
    if value.type == "image":
        yield from image.faults(value.image, value.digest, value.build)
        return
    if value.type == "git":
        yield from repo.faults(value.repo, value.commit, value.folder)
        if not value.key and not value.digest:
            return
    if not KIND.fullmatch(value.type) or not value.key or len(value.key) > 512:
        yield f"has type {shown(value.type)} and key {shown(value.key)}; name both"
    if not image.DIGEST.fullmatch(value.digest):
        yield f"digest is {shown(value.digest)}; use the SHA-256 in hexadecimal"
