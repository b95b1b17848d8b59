"""The discovery documents: which methods there are, and which of them a request is for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import unquote

VERSIONS = {
    "tpu": "v2",
    "compute": "v1",
    "cloudbuild": "v1",
    "artifactregistry": "v1",
    "iam": "v1",
    "cloudresourcemanager": "v3",
    "serviceusage": "v1",
    "storage": "v1",
}
"""The services that are there, by their names in URLs and in the variables of their endpoints."""

_VARIABLE = re.compile(r"\{\+?(\w+)\}")


@dataclass(frozen=True, slots=True)
class Method:
    """One method of a service. `path` is matched against the URL's, without the service's own beginning."""

    id: str
    verb: str
    path: re.Pattern[str]
    parameters: Mapping[str, Mapping[str, Any]]
    request: str
    response: str
    plain: int

    @property
    def verb_name(self) -> str:
        """The last word of its id: `create`, `insert`, `list`."""
        return self.id.rpartition(".")[2]

    @property
    def collection(self) -> str:
        """The word before it: `nodes`, `instances`."""
        return self.id.split(".")[-2]


@dataclass(frozen=True, slots=True)
class Service:
    """What a discovery document says."""

    name: str
    schemas: Mapping[str, Mapping[str, Any]]
    parameters: Mapping[str, Mapping[str, Any]]
    methods: Mapping[str, Method]
    root: str
    path: str

    def find(self, verb: str, path: str) -> tuple[Method, dict[str, str]] | None:
        """The method that a request is for, and the parameters in its path. None if there is no such thing."""
        best, found = None, {}
        for method in self.methods.values():
            if (
                method.verb == verb
                and (match := method.path.fullmatch(path))
                and (not best or method.plain > best.plain)
            ):
                best, found = method, match.groupdict()
        return (best, {name: _decoded(value) for name, value in found.items()}) if best else None

    def knows(self, path: str) -> bool:
        """Some method has this path, whatever its verb."""
        return any(method.path.fullmatch(path) for method in self.methods.values())


def _decoded(value: str) -> str:
    """A slash that was written as %2F is a part of a name and stays so."""
    return unquote(value.replace("%2F", "%252F"))


@cache
def document(name: str) -> dict[str, Any]:
    """The discovery document of a service, as google-api-python-client ships it."""
    place = files("googleapiclient.discovery_cache") / "documents" / f"{name}.{VERSIONS[name]}.json"
    found: dict[str, Any] = json.loads(place.read_text())
    return found


@cache
def service(name: str) -> Service:
    """The same, ready to route by."""
    said = document(name)
    methods = {method.id: method for method in _methods(said)}
    return Service(name, said["schemas"], said["parameters"], methods, said["rootUrl"], said["servicePath"])


def _methods(resource: Mapping[str, Any]) -> Iterator[Method]:
    for said in resource.get("methods", {}).values():
        parameters = said.get("parameters", {})
        yield Method(
            id=said["id"],
            verb=said["httpMethod"],
            path=_pattern(said["path"], parameters),
            parameters=parameters,
            request=said.get("request", {}).get("$ref", ""),
            response=said.get("response", {}).get("$ref", ""),
            plain=len(_VARIABLE.sub("", said["path"])),
        )
    for inner in resource.get("resources", {}).values():
        yield from _methods(inner)


def _pattern(path: str, parameters: Mapping[str, Mapping[str, Any]]) -> re.Pattern[str]:
    """A `{+name}` goes over slashes, as far as its own pattern allows; a plain `{zone}` does not."""

    def variable(found: re.Match[str]) -> str:
        name = found[1]
        wanted = parameters[name].get("pattern", ".+").removeprefix("^").removesuffix("$")
        return f"(?P<{name}>{wanted if found[0].startswith('{+') else '[^/]+'})"

    parts, last = [], 0
    for found in _VARIABLE.finditer(path):
        parts += [re.escape(path[last : found.start()]), variable(found)]
        last = found.end()
    return re.compile("".join(parts) + re.escape(path[last:]))
