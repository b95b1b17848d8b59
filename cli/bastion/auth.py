"""`bastion auth`: show the credentials for each bucket and for Google's APIs, and whether they are accepted."""

from __future__ import annotations

from collections.abc import Iterator

from bastion.model import layout
from bastion.model.errors import BastionError
from bastion.model.interfaces import Bucket
from bastion.model.settings.config import Config
from bastion.runners.google.api.interface import GoogleError
from bastion.runners.google.hosting import rights
from bastion.stores.opening import open_bucket, open_part
from bastion.stores.routed import url_of

from ..common.place import BastionPlace, known_place_of, place_of, settings_of
from ..hosting.google_host import door
from ..hosting.store_credentials import Rows, credentials
from ..terminal.flags import Options
from ..terminal.main import DONE, FAILED, Call

_HOMES = {layout.PRIVATE: "", layout.PERMANENT: layout.LOGS, layout.TTL: layout.BUNDLES}


def run(call: Call[Options]) -> int:
    """Return 0 if every bucket has credentials and answers."""
    found = [_look(call, url, names) for url, names in _urls(call)]
    at_google = _at_google(call)
    if call.output.json:
        call.output.data({"schema": 1, "buckets": found, **({"google": at_google} if at_google else {})})
    else:
        for rows in filter(None, (*found, at_google)):
            call.output.say("\n".join(f"{name:<9} {value}" for name, value in rows.items()))
    return FAILED if any("problem" in rows for rows in (*found, at_google)) else DONE


def _at_google(call: Call[Options]) -> Rows:
    """Return the rows for a bastion with machines in Google's cloud.

    A user who may not read the settings gets no rows, but learns about the bucket.
    """
    try:
        config = place_of(call).config()
    except (BastionError, OSError):
        return {}
    return look(config)


def _urls(call: Call[Options]) -> Iterator[tuple[str, str]]:
    """Return the URL and the names of each bucket.

    If the private one does not say where the others are, return only that.
    """
    try:
        place = known_place_of(call)
    except BastionError:
        yield settings_of(call).bucket, layout.PRIVATE
        return
    homes: dict[str, list[str]] = {}
    for home, prefix in _HOMES.items():
        homes.setdefault(url_of(place.bucket, prefix).rpartition("/")[0], []).append(home)
    yield from ((url, ", ".join(names)) for url, names in homes.items())


def _look(call: Call[Options], url: str, names: str) -> Rows:
    """Return the credentials in force, and the store's answer to a listing."""
    rows = {"bucket": url, "holds": names}
    try:
        rows |= credentials(url if "://" in url else open_bucket(url).url, call.environ)
        next(iter(_part(call, url).list("")), None)
    except BastionError as error:
        return rows | {"problem": str(error)}
    return rows | {"answer": "may list"}


def _part(call: Call[Options], url: str) -> Bucket:
    """Return the bastion's part of the bucket: the user may have no rights outside it."""
    part: BastionPlace = place_of(call)
    return part.bucket if part.root.url == url else open_part(f"{url}/{part.name}")


_TEST = "cloudresourcemanager.projects.testIamPermissions"


def look(config: Config) -> Rows:
    """Return rows with the account and the rights that it lacks.

    `problem` if Google does not answer. No rows without a project.
    """
    google = config.google
    needed = sorted(rights.needed(config.runners))
    if not google.project or not needed:
        return {}
    rows = {"google": f"project {google.project}", "runners": ", ".join(config.runners)}
    api = door(google)
    try:
        answer = api.call(_TEST, resource=f"projects/{google.project}", body={"permissions": needed})
    except GoogleError as error:
        return rows | {"problem": str(error)}
    finally:
        who = api.who()
        api.close()
    lacks = [one for one in needed if one not in answer.get("permissions", [])]
    told = (
        "all that a bastion needs there"
        if not lacks
        else f"{len(needed) - len(lacks)} of {len(needed)} that a bastion needs"
    )
    rows |= {"account": who or "not stated there", "rights": told}
    return rows | ({"lacks": ", ".join(lacks)} if lacks else {})
