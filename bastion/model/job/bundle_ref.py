"""The reference to a job's code, and the rules for it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..wording import shown
from . import image_ref as image
from . import repo_url as repo
from .alternatives import KIND


class BundleRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The code that the worker has to fetch.

    type: `none` (nothing to fetch), `tar`, `git` or `image`.
    key: the object with the bundle. For `git`: the changes on top of the commit; "" if there are none.
    digest: SHA-256 of that object. For `image`: digest of the image's manifest, "" until `build` has made it.
    repo: for `git`, the URL of the repository.
    commit: for `git`, the commit. It is checked out whole.
    folder: for `git`, the folder of the commit that the command runs in.
    submodules: for `git`, whether submodules are fetched. None refuses a commit that has some.
    image: for `image`, the name in a registry without a tag.
    build: for `image`, the Cloud Build build that makes it.
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
        """Return one word for the code: the digest.

        For git it is the commit, then `+` and the digest of the changes if there are any.
        """
        return "+".join(filter(None, (self.commit, self.digest)))

    @property
    def pinned(self) -> str:
        """Return the image as a container engine takes it: `host/path/name@sha256:…`.

        "" for code that comes another way.
        """
        return f"{self.image}@sha256:{self.digest}" if self.type == "image" else ""


def faults(value: BundleRef) -> Iterator[str]:
    """Check a reference to code; yield complaints."""
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
