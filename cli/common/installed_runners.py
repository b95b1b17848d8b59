"""The runners that are installed here: what packages name by entry points, ours among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from bastion.model.errors import UsageError
from bastion.model.nearest import did_you_mean
from bastion.model.settings.config import Config
from bastion.runners.runner_context import GROUP, Maker


def installed() -> Mapping[str, EntryPoint]:
    """Who makes each runner, by its name. Of two packages with one name the first in the alphabet is heard."""
    found = sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.dist.name if point.dist else ""))
    return {point.name: point for point in reversed(found)}


def maker(name: str) -> Maker:
    """Who makes this runner. Raises `UsageError` if nobody here does, or its package cannot be loaded."""
    known = installed()
    if name not in known:
        raise UsageError(_missing(name, known))
    try:
        made: Maker = known[name].load()
    except Exception as error:  # whatever it is: the package is a stranger's
        raise UsageError(f"runners has {name!r}, and its package cannot be loaded: {error!r}; mend it") from error
    return made


def faults(config: Config) -> Iterator[str]:
    """What is wrong with the settings of runners, by what is installed here: for the machine where the bastion runs."""
    yield from unknown(config)
    yield from faults_of_known(config)


def unknown(config: Config, so: str = "") -> Iterator[str]:
    """What to say of runners that are not installed here; `so`: and what comes of it."""
    known = installed()
    for name in config.runners:
        if name not in known:
            yield _missing(name, known, so)


def faults_of_known(config: Config) -> Iterator[str]:
    """What installed runners find wrong with their tables."""
    known = installed()
    for name in sorted({*config.runners, *config.runner_options} & known.keys()):
        yield from _faults(name, config.runner_options.get(name, {}))


def _faults(name: str, options: Mapping[str, Any]) -> Iterator[str]:
    try:
        yield from [f"runner_options.{name}.{fault}" for fault in maker(name).faults(options)]
    except UsageError as error:
        yield str(error)
    except Exception as error:  # a stranger's code: the settings stay as they are, and the bastion goes on
        yield f"runner_options.{name} cannot be checked: {error!r}"


def _missing(name: str, known: Mapping[str, EntryPoint], so: str = "") -> str:
    others = f"use {', '.join(sorted(known))}, or install its package" if known else "install Bastion here again"
    return f"runners has {name!r}, which is not installed here{so}; {did_you_mean(name, known, others)}"
