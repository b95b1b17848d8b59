"""Who asks at Google's APIs for a bastion's machines, and which of the rights that a bastion needs this account lacks."""

from __future__ import annotations

from bastion.model.settings.config import Config
from bastion.runners.google.api.door import GoogleError
from bastion.runners.google.hosting import rights

from .credentials import Rows
from .google_host import door

_TEST = "cloudresourcemanager.projects.testIamPermissions"


def look(config: Config) -> Rows:
    """The account, and what it lacks; `problem` if Google does not say. No rows without a project."""
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
    rows |= {"account": who or "not said there", "rights": told}
    return rows | ({"lacks": ", ".join(lacks)} if lacks else {})
