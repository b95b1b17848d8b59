"""`bastion config`: profiles, and the bastion's own settings. What the first word says."""

from __future__ import annotations

from cli import config_profiles, config_show
from cli.main import Call


def run(call: Call) -> int:
    """Do what the first word says."""
    action, *rest = call.words
    if action == "list":
        return config_profiles.list_all(call)
    if action == "show":
        return config_show.show(call)
    of_profiles = {
        "activate": config_profiles.activate,
        "add": config_profiles.add,
        "remove": config_profiles.remove,
    }
    return of_profiles[action](call, rest[0])
