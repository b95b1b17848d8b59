"""The fake without a network between: thousands of requests a second, in the order in which they are asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

from requests import ConnectionError as Cut

from bastion.model.interfaces import Clock, Ids
from bastion.runners.google.api.client import GoogleApi
from bastion.runners.google.api.service_descriptions import ApiService, service
from tests.google.fake import Fake
from tests.google.fake.desk import CutError, Desk, Request
from tests.google.fake.fake import PROJECT


@dataclass(frozen=True, slots=True)
class _Answer:
    status_code: int
    content: bytes
    reason: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


class NearGoogle(GoogleApi):
    """Our client of Google's APIs, whose requests go to the fake's desk. `each` is called before and after every one."""

    def __init__(self, fake: Fake, clock: Clock, ids: Ids, each: Callable[[], None]) -> None:
        super().__init__(PROJECT, clock, ids, patience_s=0.0, limit_s=0.0)
        self._desk: Desk = fake.desk
        self._each = each

    def _service(self, name: str) -> ApiService:
        return _services(name)

    def _session(self, service: ApiService) -> Any:
        return self

    def request(self, verb: str, url: str, *, data: str | None, **_: Any) -> _Answer:
        """As of a session of requests."""
        split = urlsplit(url)
        service = split.netloc.partition(".")[0]
        sent = data.encode() if isinstance(data, str) else data or b""
        self._each()
        try:
            code, answer = self._desk.answer(
                Request(verb, f"/{service}{split.path}", parse_qs(split.query, keep_blank_values=True), sent)
            )
        except CutError as error:
            raise Cut("the connection was cut") from error
        finally:
            self._each()
        return _Answer(code, json.dumps(answer).encode(), headers={"content-type": "application/json"})


@cache
def _services(name: str) -> ApiService:
    """A service of Google's, made once for all clients."""
    return service(name)
