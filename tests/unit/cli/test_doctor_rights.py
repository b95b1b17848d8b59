"""A doctor asks Google's own client, which asks a real server that answers as IAM does."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from bastion.cli.bastion.parts import doctor_rights
from bastion.launcher.access.health_checks import Check, HealthLevel
from bastion.model.interfaces import Bucket
from bastion.stores.gcs import GcsBucket
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from bastion.stores.routed import RoutedBucket
from tests.support.terraform import NAMES, plan

GUARD = {"uniformBucketLevelAccess": {"enabled": True}, "publicAccessPrevention": "enforced"}


@dataclass
class Iam:
    """What the server says: (status, body) by path; and what it was asked."""

    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def bucket(self, name: str, bindings: Any, guard: Any = GUARD, *, status: int = 200) -> None:
        self.answers[f"/storage/v1/b/{name}/iam"] = status, {"version": 3, "bindings": bindings}
        self.answers[f"/storage/v1/b/{name}"] = status, {"name": name, "iamConfiguration": guard}

    def holds(self, name: str, *rights: str) -> None:
        self.answers[f"/storage/v1/b/{name}/iam/testPermissions"] = 200, {"permissions": list(rights)}


@pytest.fixture
def iam(monkeypatch: pytest.MonkeyPatch) -> Iterator[Iam]:
    known = Iam()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            at = urlsplit(self.path)
            known.asked.append(self.path)
            status, body = known.answers.get(at.path, (404, {"error": {"code": 404, "message": "no such thing"}}))
            if at.path.endswith("testPermissions") and isinstance(body, dict):
                asked = parse_qs(at.query)["permissions"]
                body = {"permissions": [right for right in body["permissions"] if right in asked]}
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{server.server_port}")
    yield known
    server.shutdown()
    thread.join()
    server.server_close()


def three() -> Bucket:
    """A bastion's buckets, as the Terraform names them. Nothing is asked by opening them."""
    urls = {name: f"gs://acme-{name}/team" for name in NAMES[1:]}
    return RoutedBucket(PrefixedBucket(GcsBucket("gs://acme-private"), "team"), urls, lambda url: GcsBucket(url))


def wrong(found: list[Check]) -> dict[str, str]:
    return {check.name: check.found for check in found if check.level is not HealthLevel.OK}


def bindings(name: str) -> list[dict[str, Any]]:
    return [
        {"role": grant.role, "members": sorted(grant.members)}
        | ({"condition": {"title": "t", "expression": grant.condition}} if grant.condition else {})
        for grant in plan().access(name).grants
    ]


def test_what_the_terraform_made_is_well(iam: Iam) -> None:
    for name in NAMES:
        iam.bucket(f"acme-{name}", bindings(name))
    found = doctor_rights.checks(three(), admin=True)
    assert wrong(found) == {}
    assert "each as one user" in next(check.found for check in found if check.name == "requests in gs://acme-private")
    assert any("optionsRequestedPolicyVersion=3" in path for path in iam.asked), "else conditions are left out"


def test_what_somebody_changed_by_hand_is_found(iam: Iam) -> None:
    for name in NAMES:
        iam.bucket(f"acme-{name}", bindings(name))
    eve = {"role": "roles/storage.objectAdmin", "members": ["user:eve@x"]}
    iam.bucket("acme-private", [*bindings("private"), eve], {**GUARD, "publicAccessPrevention": "inherited"})
    iam.bucket("acme-ttl", [*bindings("ttl"), {"role": "roles/storage.objectViewer", "members": ["allUsers"]}])
    assert set(wrong(doctor_rights.checks(three(), admin=True))) == {
        "public access to gs://acme-private",
        "writers of the journal in gs://acme-private",
        "public access to gs://acme-ttl",
    }


def test_who_may_not_see_the_policy_is_told_so_and_what_they_may_do_themselves(iam: Iam) -> None:
    bucket = PrefixedBucket(GcsBucket("gs://bkt"), "team")
    iam.bucket("bkt", [], status=403)
    iam.holds("bkt")
    (check,) = doctor_rights.checks(bucket, admin=False)
    assert check.level is HealthLevel.OK
    assert "you may not read the bucket's policy; ask an admin to run bastion doctor" in check.found
    iam.holds("bkt", "storage.objects.create", "storage.objects.delete", "storage.objects.get")
    (check,) = doctor_rights.checks(bucket, admin=False)
    assert (check.level, check.found) == (
        HealthLevel.FAILED,
        "you may create and delete everywhere in it, but you are no admin",
    )
    assert doctor_rights.checks(bucket, admin=True)[0].level is HealthLevel.OK


def test_a_store_that_has_no_such_thing_is_no_trouble(iam: Iam) -> None:
    (check,) = doctor_rights.checks(PrefixedBucket(GcsBucket("gs://bkt"), "team"), admin=True)
    assert (check.level, check.found) == (HealthLevel.OK, "not examined: this store does not report rights")


@pytest.mark.parametrize(
    "answer", [[], "x", 7, {"bindings": {"a": 1}}, {"bindings": [None]}, {"bindings": [{"role": 1, "members": None}]}]
)
def test_an_answer_that_makes_no_sense_is_a_line_and_no_all_clear(iam: Iam, answer: Any) -> None:
    iam.bucket("bkt", [])
    iam.answers["/storage/v1/b/bkt/iam"] = 200, answer
    found = doctor_rights.checks(PrefixedBucket(GcsBucket("gs://bkt"), "team"), admin=True)
    assert any(check.level is not HealthLevel.OK for check in found)


def test_a_folder_that_all_may_write_is_found(tmp_path: Path) -> None:
    bucket = PrefixedBucket(LocalBucket(f"file://{tmp_path}/b", create=True), "team")
    (tmp_path / "b" / "team").mkdir()
    for place, mode, found in (("b", 0o777, 1), ("b", 0o1777, 0), ("b", 0o755, 0), ("b/team", 0o757, 1)):
        os.chmod(tmp_path / place, mode)
        assert len(wrong(doctor_rights.checks(bucket, admin=True))) == found, (place, oct(mode))
        os.chmod(tmp_path / place, 0o755)
