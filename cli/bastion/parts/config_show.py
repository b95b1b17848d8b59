"""`bastion config show`: print the settings of the call with their sources, and the settings of the bastion."""

from __future__ import annotations

from typing import Any

from bastion.launcher.submit.profiles import KEYS, USUAL, Setting
from bastion.model.codec import whole
from bastion.model.errors import BastionError
from bastion.model.job.spec import written_out
from bastion.model.settings.config import Config

from ...common.command_context import user_of
from ...common.place import BastionPlace, place_of, profile_of, profiles_path, setting_of
from ...terminal.flags import Options
from ...terminal.main import DONE, Call


def show(call: Call[Options]) -> int:
    """Print both, under two headings. The settings of the call are printed even if there is no bastion."""
    values = {key: found for key in KEYS if (found := setting_of(call, key))}
    values.setdefault("user_id", Setting(user_of(call), "login name"))
    problem, place, config = "", None, None
    try:
        place = place_of(call)
        config = place.config()
    except BastionError as error:
        problem = str(error)
    if call.output.json:
        call.output.data(_json(call, values, config, problem))
        return DONE
    call.output.say("\n".join([*_values(values), *_settings(place, config, problem)]))
    return DONE


def _values(values: dict[str, Setting]) -> list[str]:
    heading = "Values that this call uses:"
    missing = Setting("-", "not set")
    found = {key: values.get(key, missing) for key in KEYS if key in USUAL or key in values}
    width = max(len(each.value) for each in found.values())
    return [heading, *(f"  {key:<10}  {each.value:<{width}}  {each.source}" for key, each in found.items())]


def _settings(place: BastionPlace | None, config: Config | None, problem: str) -> list[str]:
    if place is None or config is None:
        return [f"No settings of a bastion: {problem}"]
    rows = [f"  {key} = {whole(getattr(config, key))}" for key in config.__struct_fields__]
    return [f"Settings of bastion {place.name}, in {place.bucket.url}/config.toml:", *rows]


def _json(call: Call[Options], values: dict[str, Setting], config: Config | None, problem: str) -> dict[str, Any]:
    return {
        "schema": 1,
        "file": str(profiles_path(call.environ)),
        "profile": profile_of(call).name or None,
        "values": {key: {"value": each.value, "source": each.source} for key, each in values.items()},
        "config": None if config is None else written_out(config),
        "problem": problem or None,
    }
