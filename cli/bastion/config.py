"""`bastion config`: profiles, and the bastion's own settings."""

from __future__ import annotations

from ..common import admin_file
from ..options.bastion import ConfigOptions
from ..terminal.main import Call
from .parts import config_file, config_profiles, config_show
from .parts.admin_file_history import history


def run(call: Call[ConfigOptions]) -> int:
    """Do the action of the first word."""
    action, *rest = call.words
    if action == "list":
        return config_profiles.list_all(call)
    if action == "show":
        return config_show.show(call)
    if action == "edit":
        return admin_file.edit(call, config_file.CONFIG_FILE)
    if action == "set":
        return config_file.put(call, rest)
    if action == "history":
        return history(call, config_file.CONFIG_FILE)
    of_profiles = {
        "activate": config_profiles.activate,
        "add": config_profiles.add,
        "remove": config_profiles.remove,
    }
    return of_profiles[action](call, rest[0])
