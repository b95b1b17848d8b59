"""Google's services as their discovery documents describe them, and the endpoint of each.

A call that is not in the documents fails here. The variables that gcloud has for it can change the endpoint of a
service: `CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU` and so on.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from bastion.model.errors import UsageError

from .interface import InvalidCall

VERSIONS = {
    "artifactregistry": "v1",
    "cloudbuild": "v1",
    "cloudresourcemanager": "v3",
    "compute": "v1",
    "iam": "v1",
    "serviceusage": "v1",
    "storage": "v1",
    "tpu": "v2",
}
"""The services that are called, and the version of each API."""

OVERRIDES = "CLOUDSDK_API_ENDPOINT_OVERRIDES_"


@dataclass(frozen=True, slots=True)
class ApiService:
    """One API as its discovery document describes it, bound to its endpoint.

    document: the discovery document.
    resource: the library's object for the API.
    endpoint: the URL where the API is called.
    """

    document: Mapping[str, Any]
    resource: Any
    endpoint: str
    _known: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def method(self, name: str) -> Mapping[str, Any]:
        """Return the document's description of a method. Raises `InvalidCall` if it has none with this id."""
        level: Mapping[str, Any] = self.document
        *path, verb = name.split(".")[1:]
        try:
            for part in path:
                level = level["resources"][part]
            found: Mapping[str, Any] = level["methods"][verb]
        except KeyError:
            raise InvalidCall(f"there is no method {name} in Google's {self.document['name']} API") from None
        return found

    def request(self, name: str, parameters: Mapping[str, Any]) -> Any:
        """Build the library's request. Raises `InvalidCall` for parameters that are not in the document."""
        if name not in self._known:  # the library rebuilds all methods of a resource at each access, which is slow
            resource = self.resource
            *path, verb = name.split(".")[1:]
            for part in path:
                resource = getattr(resource, part)()
            self._known[name] = getattr(resource, verb)
        try:
            return self._known[name](**parameters)
        except (TypeError, ValueError) as error:
            raise InvalidCall(f"{name}: {error}") from error


def service(name: str) -> ApiService:
    """Return a service by its name.

    Raises `InvalidCall` if it is not in `VERSIONS`; `UsageError` without the packages for it, or if its endpoint is without
    https outside of this machine and its private network.
    """
    if name not in VERSIONS:
        raise InvalidCall(f"Bastion uses no Google service {name!r}; it uses: {', '.join(VERSIONS)}")
    try:
        from googleapiclient.discovery import build_from_document
        from googleapiclient.discovery_cache import get_static_doc
    except ImportError as error:
        raise UsageError(
            f"Google Cloud needs more packages ({error.name}); run: pip install 'bastion-scheduler[gcp]'"
        ) from error
    document = json.loads(get_static_doc(name, VERSIONS[name]))
    endpoint = os.environ.get(OVERRIDES + name.upper(), "") or document["rootUrl"]
    if not urlsplit(endpoint).path.strip("/"):
        endpoint = endpoint.rstrip("/") + "/" + document["servicePath"]
    if endpoint.startswith("http://") and not _is_near(endpoint):
        raise UsageError(
            f"{OVERRIDES}{name.upper()} is {endpoint!r}: without https it must be on this machine or in its network"
        )
    import httplib2

    logging.getLogger("googleapiclient.http").setLevel(logging.ERROR)  # our own errors say what it warns about
    resource = build_from_document(document, http=httplib2.Http(), client_options={"api_endpoint": endpoint})
    return ApiService(document, resource, endpoint)


def _is_near(endpoint: str) -> bool:
    """True if the endpoint is on this machine or in a private network."""
    host = urlsplit(endpoint).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_private
