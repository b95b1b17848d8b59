"""What is deleted is of the creation that was meant: Google's names come again, the nonce in the labels does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bastion.model.interfaces import AttemptKey
from bastion.model.settings.tables import GoogleSettings
from bastion.platform.system import RandomIds
from bastion.runners.google.api.interface import ResourceNotFound
from bastion.runners.google.machines.google_context import GoogleContext
from bastion.runners.google.machines.names import GoogleHost, GoogleLabels, labels
from bastion.runners.google.tpu import parse
from bastion.runners.google.tpu.deletion import SliceDeletion
from bastion.runners.google.tpu.listing import TpuListing
from bastion.testing.fleets import sealing
from tests.support.doors import HandTasks
from tests.support.world import HandClock

SCOPE, ZONE, NAME = "scope", "us-central2-b", "train-0123456789abcd"
OLD, NEW = "a" * 32, "b" * 32


def row(nonce: str) -> dict[str, Any]:
    mark = GoogleLabels(scope=SCOPE, key=AttemptKey("j-1", 0, 0), epoch=1, nonce=nonce)
    full = f"projects/p/locations/{ZONE}/nodes/{NAME}"
    return {"name": full, "labels": labels(mark), "state": "READY", "acceleratorType": "v4-8"}


class OneNode:
    """Google, with one node. `before_get` happens right before it is shown."""

    def __init__(self, nonce: str, before_get: Callable[[OneNode], None] = lambda _: None) -> None:
        self.node: dict[str, Any] | None = row(nonce)
        self.called: list[str] = []
        self._before_get = before_get

    def call(self, method: str, **asked: Any) -> Mapping[str, Any]:
        verb = method.rpartition(".")[2]
        self.called.append(verb)
        if verb == "get":
            self._before_get(self)
        if self.node is None:
            raise ResourceNotFound("no such node")
        return self.node


def removal(google: Any) -> SliceDeletion:
    settings = GoogleSettings(project="p", zones=(ZONE,))
    tasks = HandTasks()
    site = GoogleContext(
        google=google, settings=settings, scope=SCOPE, ids=RandomIds(), clock=HandClock(), birth=lambda *_: {},
        at_once=tasks.map, seal=sealing(),
    )  # fmt: skip
    return SliceDeletion(site)


def listing(nonce: str) -> TpuListing:
    node = parse.node_of(row(nonce), ZONE, SCOPE)
    assert node is not None
    return TpuListing(nodes=(node,))


HOST = GoogleHost(zone=ZONE, name=NAME, nonce=OLD, host=0)


def test_what_is_of_that_creation_is_deleted() -> None:
    google = OneNode(OLD)
    removal(google).ask(HOST, listing(OLD))
    assert google.called == ["get", "delete"]


def test_another_of_that_name_that_came_after_the_listing_is_left_alone() -> None:
    def replaced(google: OneNode) -> None:
        google.node = row(NEW)

    google = OneNode(OLD, replaced)
    removal(google).ask(HOST, listing(OLD))
    assert google.called == ["get"]


@pytest.mark.parametrize("nonce", [NEW, None])
def test_another_that_is_not_listed_is_left_alone(nonce: str | None) -> None:
    google = OneNode(NEW)
    google.node = row(nonce) if nonce else None
    removal(google).ask(HOST, TpuListing())
    assert "delete" not in google.called
