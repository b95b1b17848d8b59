"""Find the runners that are installed here. Packages name them as entry points, ours as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from bastion.model.errors import UsageError
from bastion.model.nearest import did_you_mean
from bastion.model.settings.config import Config
from bastion.runners.runner_context import GROUP, Maker


def installed() -> Mapping[str, EntryPoint]:
    """Return the entry point of each runner, by its name.

    Of two packages with one name, the first in the alphabet wins.
    """
    found = sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.dist.name if point.dist else ""))
    return {point.name: point for point in reversed(found)}


def maker(name: str) -> Maker:
    """Return the maker of this runner. Raises `UsageError` if none is installed, or if its package cannot be loaded."""
    known = installed()
    if name not in known:
        raise UsageError(_missing(name, known))
    try:
        made: Maker = known[name].load()
    except Exception as error:  # any error: the package is third-party code
        raise UsageError(
            f"runners has {name!r}, and its package cannot be loaded: {error!r}; repair or reinstall the package"
        ) from error
    return made


def faults(config: Config) -> Iterator[str]:
    """List what is wrong with the settings of runners, on the machine of the bastion: it must have them installed."""
    yield from unknown(config)
    yield from faults_of_known(config)


def unknown(config: Config, so: str = "") -> Iterator[str]:
    """List a message for each runner that is not installed here. `so` adds the consequence."""
    known = installed()
    for name in config.runners:
        if name not in known:
            yield _missing(name, known, so)


def faults_of_known(config: Config) -> Iterator[str]:
    """List what installed runners find wrong with their tables."""
    known = installed()
    for name in sorted({*config.runners, *config.runner_options} & known.keys()):
        yield from _faults(name, config.runner_options.get(name, {}))


def _faults(name: str, options: Mapping[str, Any]) -> Iterator[str]:
    try:
        yield from [f"runner_options.{name}.{fault}" for fault in maker(name).faults(options)]
    except UsageError as error:
        yield str(error)
    except Exception as error:  # third-party code must not stop the bastion
        yield f"runner_options.{name} cannot be checked: {error!r}"


def _missing(name: str, known: Mapping[str, EntryPoint], so: str = "") -> str:
    others = f"use {', '.join(sorted(known))}, or install its package" if known else "install Bastion here again"
    return f"runners has {name!r}, which is not installed here{so}; {did_you_mean(name, known, others)}"
