"""Check the rights of others in a bastion's buckets, as far as a store shows them."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterable
from typing import Any

from bastion.launcher.access import bucket_rights
from bastion.launcher.access.bucket_rights import CREATE, DELETE, BucketPart
from bastion.launcher.access.health_checks import FILES, PREFIXES, Check, HealthLevel
from bastion.model.errors import AccessDenied, BucketError, ObjectNotFound
from bastion.model.interfaces import Bucket
from bastion.stores.gcs import GcsBucket
from bastion.stores.routed import url_of

_NOT_OURS = "not examined: the store's own policies decide about rights; see docs/security.md"


def checks(bucket: Bucket, *, admin: bool) -> list[Check]:
    """Check each bucket of a bastion. `admin`: the user is an admin and may have every right."""
    by_url: dict[str, list[str]] = {}
    for home in (*PREFIXES, *FILES):
        by_url.setdefault(url_of(bucket, home), []).append(home)
    found: list[Check] = []
    parts: list[BucketPart] = []
    for url, homes in by_url.items():
        scheme, _, rest = url.partition("://")
        if scheme == "gs":
            part, told = _google(rest, homes, admin=admin)
            parts += [part] if part else []
            found += told
        elif scheme == "file":
            found += _folder(url, f"/{rest.lstrip('/')}")
        elif scheme != "memory":
            found.append(Check(HealthLevel.OK, f"rights of others in {url}", _NOT_OURS))
    return [*bucket_rights.checks(parts), *found]


def _google(place: str, homes: Iterable[str], *, admin: bool) -> tuple[BucketPart | None, list[Check]]:
    """Return the rights in a bucket, or else the checks that say why they are unknown."""
    name, _, below = place.partition("/")
    title = f"rights of others in gs://{name}"
    store = GcsBucket(f"gs://{name}")
    try:
        policy, settings = store.rights()
        return BucketPart(bucket_rights.read(name, policy, settings), f"{below}/", tuple(homes)), []
    except ObjectNotFound:
        return None, [Check(HealthLevel.OK, title, "not examined: this store does not report rights")]
    except AccessDenied:
        return None, [_own(store, title, admin=admin)]
    except BucketError as error:
        return None, [Check(HealthLevel.WARNING, title, f"not examined: {error}", "try again when the store answers")]
    finally:
        store.close()


def _own(store: Any, title: str, *, admin: bool) -> Check:
    """Check our own rights where we may not see others' rights.

    What we may do everywhere, others like us may do as well.
    """
    unseen = "not examined: you may not read the bucket's policy; ask an admin to run bastion doctor"
    try:
        held = [right for right in store.held((CREATE, DELETE)) if right in (CREATE, DELETE)]
    except (BucketError, ObjectNotFound):
        held = []
    if held and not admin:
        verbs = " and ".join(right.rpartition(".")[2] for right in held)
        found = f"you may {verbs} everywhere in it, but you are no admin"
        return Check(HealthLevel.FAILED, title, found, f"ask an admin to limit that right; {bucket_rights.SEE}")
    return Check(HealthLevel.OK, title, unseen)


def _folder(url: str, path: str) -> list[Check]:
    """Check the folder of the bucket and the one around it: an account that may write there can replace the bucket."""
    try:
        found = [os.stat(place) for place in (path, os.path.dirname(path))]
    except OSError:
        return []
    own, around = found
    mode = own.st_mode if around.st_mode & stat.S_ISVTX else own.st_mode | around.st_mode
    return [bucket_rights.folder(url, mode, _named(pwd.getpwuid, own.st_uid), _named(grp.getgrgid, own.st_gid))]


def _named(look_up: Any, number: int) -> str:
    try:
        return str(look_up(number)[0])
    except KeyError:
        return str(number)
