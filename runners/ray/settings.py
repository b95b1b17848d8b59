"""The options of `[runner_options.ray]` in config.toml, checked. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

ADDRESS = "http://127.0.0.1:8265"
"""The default address of Ray's dashboard and its Job API."""

_TEXTS = ("address", "python", "folder", "token_file")
_KIND = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_RAYS = re.compile(r"CPU|memory|GPU(:[A-Za-z0-9._-]{1,60})?|[A-Za-z][A-Za-z0-9._-]{0,99}")
_WORDS_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RaySettings:
    """The options of the runner.

    address: the URL of the Job API.
    python: the interpreter that has Bastion on every node.
    folder: the folder where jobs work on the nodes; `~` is the home of Ray's account there.
    token_file: the file with the token that the Job API needs; "" for Ray's usual file.
    resources: Ray's resource for a kind of ours: `GPU:H100`, or any name with which nodes were started.
    """

    address: str = ADDRESS
    python: str = "python3"
    folder: str = "~/.cache/bastion"
    token_file: str = ""
    resources: Mapping[str, str] = field(default_factory=dict)


def settings_of(options: Mapping[str, Any]) -> RaySettings:
    """Return the settings of options without `faults`."""
    told = dict(options)
    if "address" in told:
        told["address"] = told["address"].rstrip("/")
    return RaySettings(**told)


def faults(options: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the options, one line for each fault."""
    return [*_unknown(options), *_texts(options), *_resources(options.get("resources", {}))]


def _unknown(options: Mapping[str, Any]) -> Iterator[str]:
    known = (*_TEXTS, "resources")
    for name in options:
        if name not in known:
            yield f"{name[:100]} is no option of the runner ray; it has {', '.join(known)}"


def _texts(options: Mapping[str, Any]) -> Iterator[str]:
    for name in _TEXTS:
        value = options.get(name, "x")
        if not isinstance(value, str) or not value or len(value) > _WORDS_MAX or not value.isprintable():
            yield f"{name} is {str(value)[:100]!r}; write a text of 1 to {_WORDS_MAX} characters in quotes"
        elif name == "address" and name in options and not _is_address(value):
            yield f"address is {value[:100]!r}; write the URL of Ray's dashboard, as {ADDRESS}"
        elif name == "folder" and name in options and not value.startswith(("/", "~/")):
            yield f"folder is {value[:100]!r}; begin it with / or ~/"


def _is_address(text: str) -> bool:
    try:
        url = urlsplit(text)
        return url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0 and not url.query
    except ValueError:
        return False


def _resources(table: object) -> Iterator[str]:
    if not isinstance(table, Mapping):
        yield f"resources is {str(table)[:100]!r}; write a table, as {{ h100 = 'GPU:H100' }}"
        return
    for kind, name in table.items():
        if not _KIND.fullmatch(str(kind)):
            yield f"resources: {str(kind)[:100]!r} is no name of a kind; use small letters and digits"
        if not isinstance(name, str) or not _RAYS.fullmatch(name):
            yield f"resources: {kind} is {str(name)[:100]!r}; write the name of a resource of Ray's, as 'GPU:H100'"
