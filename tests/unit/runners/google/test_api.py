"""The real client against a real HTTP server: what is sent, what is asked again, and what is told of refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.auth.credentials import Credentials
from google.auth.exceptions import RefreshError

from bastion.model.errors import NotReady, UsageError
from bastion.platform.system import RandomIds, SystemClock
from bastion.runners.google.api.client import GoogleApi
from bastion.runners.google.api.interface import (
    CredentialsMissing,
    GoogleError,
    InvalidCall,
    PermissionMissing,
    QuotaExhausted,
    RateLimited,
    ResourceExists,
    ResourceNotFound,
    Stockout,
)
from bastion.runners.google.api.rate import PER_MINUTE
from bastion.runners.google.api.service_descriptions import OVERRIDES
from tests.unit.runners.google.server import Scripted, serving

ZONE = "projects/p/locations/us-central2-b"
LIST = "tpu.projects.locations.nodes.list"
CREATE = "tpu.projects.locations.queuedResources.create"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    with serving() as scripted:
        for service in ("TPU", "COMPUTE", "CLOUDBUILD"):
            monkeypatch.setenv(OVERRIDES + service, scripted.url)
        yield scripted


@pytest.fixture
def api(server: Scripted) -> Iterator[GoogleApi]:
    google = GoogleApi("p", SystemClock(), RandomIds(), limit_s=20)
    yield google
    google.close()


def refusal(code: int, status: str, said: str, **info: Any) -> tuple[int, Any]:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", **info}] if info else []
    return code, {"error": {"code": code, "message": said, "status": status, "details": details}}


def test_a_call_goes_where_the_document_says(api: GoogleApi, server: Scripted) -> None:
    server.replies = [(200, {"name": "operations/1"}), (200, {"items": {}})]
    body = {"tpu": {"nodeSpec": [{"parent": ZONE, "nodeId": "n", "node": {"runtimeVersion": "v"}}]}}
    assert api.call(CREATE, parent=ZONE, queuedResourceId="q", body=body) == {"name": "operations/1"}
    api.call("compute.instances.aggregatedList", project="p")
    create, listing = server.asked
    assert (create.verb, create.path.split("?")[0]) == ("POST", f"/v2/{ZONE}/queuedResources")
    assert "queuedResourceId=q" in create.path
    assert "requestId=" in create.path
    assert create.body == body
    assert listing.path.split("?")[0] == "/compute/v1/projects/p/aggregated/instances"


def test_a_call_that_google_does_not_know_is_not_sent(api: GoogleApi, server: Scripted) -> None:
    with pytest.raises(InvalidCall, match=r"no method tpu.projects.locations.nodes.guess"):
        api.call("tpu.projects.locations.nodes.guess", name="n")
    with pytest.raises(InvalidCall, match="colour"):
        api.call(LIST, parent=ZONE, colour="red")
    with pytest.raises(InvalidCall, match="parent"):
        api.call(LIST)
    with pytest.raises(InvalidCall, match="'dns'"):
        api.call("dns.changes.list", project="p")
    assert server.asked == []


def test_what_passes_is_asked_again_with_the_same_request_id(api: GoogleApi, server: Scripted) -> None:
    server.replies = [
        (503, b"<html>overloaded</html>"),
        None,
        refusal(429, "RESOURCE_EXHAUSTED", "too many per minute"),
    ]
    api.call(CREATE, parent=ZONE, queuedResourceId="q", body={})
    assert len(server.asked) >= 4
    assert len({asked.path for asked in server.asked}) == 1


def test_what_would_be_made_twice_is_not_sent_again(server: Scripted) -> None:
    google = GoogleApi("p", SystemClock(), RandomIds(), limit_s=20)
    server.replies = [
        (503, {}),
        refusal(429, "RESOURCE_EXHAUSTED", "too many requests per minute"),
        (200, {"name": "b"}),
    ]
    with pytest.raises(GoogleError, match="builds create"):
        google.call("cloudbuild.projects.builds.create", projectId="p", body={})
    assert len(server.asked) == 1
    assert google.call("cloudbuild.projects.builds.create", projectId="p", body={}) == {"name": "b"}  # 429 is no doubt
    assert len(server.asked) == 3
    google.close()


def test_all_pages_are_read_and_a_part_is_not_the_whole(api: GoogleApi, server: Scripted) -> None:
    server.replies = [(200, {"nodes": [{"name": "a"}], "nextPageToken": "t"}), (200, {"nodes": [{"name": "b"}]})]
    assert [node["name"] for node in api.pages(LIST, "nodes", parent=ZONE)] == ["a", "b"]
    assert "pageToken=t" in server.asked[1].path
    server.replies = [(200, {"items": {"zones/z": {"instances": [{"name": "i"}]}, "zones/y": {}}})]
    found = dict(api.pages("compute.instances.aggregatedList", "items", project="p"))
    assert found == {"zones/z": {"instances": [{"name": "i"}]}, "zones/y": {}}
    server.replies = [(200, {"nodes": [{"name": "a"}], "unreachable": ["us-central2-b"]})]
    with pytest.raises(GoogleError, match="us-central2-b did not answer"):
        list(api.pages(LIST, "nodes", parent=ZONE))


def test_pages_that_never_end_are_no_listing(api: GoogleApi, server: Scripted) -> None:
    server.replies = [(200, {"nodes": [{"name": "a"}], "nextPageToken": "t"})] * 2
    with pytest.raises(GoogleError, match="the listing does not end"):
        list(api.pages(LIST, "nodes", parent=ZONE))
    assert len(server.asked) == 2


REFUSALS = [
    (
        refusal(
            403, "PERMISSION_DENIED", "Permission 'tpu.nodes.list' denied", reason="IAM_PERMISSION_DENIED",
            domain="iam.googleapis.com", metadata={"permission": "tpu.nodes.list", "resource": "projects/p"},
        ),
        PermissionMissing,
        "ada@x.org lacks tpu.nodes.list on projects/p; run: gcloud projects add-iam-policy-binding p "
        "--member=user:ada@x.org --role=roles/tpu.admin",
    ),
    (
        (403, {"error": {"code": 403, "message": "Required "
            "'compute.instances.create' permission for 'projects/p/zones/z/instances/i'"}}),
        PermissionMissing,
        "lacks compute.instances.create on projects/p/zones/z/instances/i; run: gcloud projects add-iam",
    ),
    (
        refusal(403, "PERMISSION_DENIED", "The user does not have access to service account. Permission "
                "'iam.serviceAccounts.actAs' denied on resource 'projects/p/serviceAccounts/w@p.iam.gserviceaccount.com'"),
        PermissionMissing,
        "run: gcloud iam service-accounts add-iam-policy-binding w@p.iam.gserviceaccount.com --member=user:ada@x.org "
        "--role=roles/iam.serviceAccountUser",
    ),
    (
        refusal(403, "PERMISSION_DENIED", "Cloud TPU API has not been used", reason="SERVICE_DISABLED",
                domain="googleapis.com", metadata={"service": "tpu.googleapis.com"}),
        PermissionMissing,
        "tpu.googleapis.com is not enabled in project p; run: gcloud services enable tpu.googleapis.com --project=p",
    ),
    (
        refusal(401, "UNAUTHENTICATED", "invalid token"),
        CredentialsMissing,
        "ada@x.org .* run: gcloud auth application-default login",
    ),
    (refusal(404, "NOT_FOUND", "network n was not found"), ResourceNotFound, "network n was not found"),
    (refusal(409, "ALREADY_EXISTS", "q exists"), ResourceExists, "it exists already"),
    (
        refusal(429, "RESOURCE_EXHAUSTED", "Quota limit 'TPUV6EPreemptiblePerProjectPerRegionForTPUAPI' has been exceeded. "
                "Limit: 0 in region us-east5."),
        QuotaExhausted,
        "quota of project p is used up .*Limit: 0 in region us-east5.*iam-admin/quotas",
    ),
    (
        refusal(429, "RESOURCE_EXHAUSTED", 'There is no more capacity in the zone "us-central2-b"; you can try another'),
        Stockout,
        "no more capacity",
    ),
    (refusal(400, "INVALID_ARGUMENT", "bad node"), InvalidCall, "bad node; a retry cannot help"),
    ((400, b"\xff\x00 no json"), InvalidCall, "no json"),
    ((418, [1, 2]), InvalidCall, "1, 2"),
]  # fmt: skip


class Ada(Credentials):  # type: ignore[misc]
    """A person's credentials that are valid, or lapse."""

    account = "ada@x.org"
    lapsed = False

    def refresh(self, request: Any) -> None:
        if self.lapsed:
            raise RefreshError("invalid_grant: Token has been expired or revoked.")
        self.token = "t"


@pytest.mark.parametrize(("reply", "kind", "said"), REFUSALS)
def test_a_refusal_says_what_to_do(server: Scripted, reply: Any, kind: type, said: str) -> None:
    google = logged_in(Ada())
    server.always = lambda asked: reply
    with pytest.raises(kind, match=said) as caught:
        google.call(LIST, parent=ZONE)
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)
    google.close()


def test_a_login_that_lapses_in_the_middle_is_said_and_looked_for_anew(server: Scripted) -> None:
    first, second = Ada(), Ada()
    google = logged_in(first, second)
    assert google.call(LIST, parent=ZONE) == {}
    first.lapsed, server.replies = True, [refusal(401, "UNAUTHENTICATED", "expired")]
    with pytest.raises(
        CredentialsMissing,
        match=r"ada@x.org is missing or has expired .*invalid_grant.*gcloud auth application-default",
    ):
        google.call(LIST, parent=ZONE)
    assert google.call(LIST, parent=ZONE) == {}  # by then Ada has logged in again
    google.close()


def test_who_has_no_credentials_is_told_how_to_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    google = GoogleApi("p", SystemClock(), RandomIds(), limit_s=1)
    with pytest.raises(CredentialsMissing, match="gcloud auth application-default login"):
        google.call(LIST, parent=ZONE)
    google.close()


def test_where_a_service_is_asked_without_tls_must_be_near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OVERRIDES + "TPU", "http://example.org")
    with pytest.raises(UsageError, match="without https it must be on this machine"):
        GoogleApi("p", SystemClock(), RandomIds()).call(LIST, parent=ZONE)


class StillClock(SystemClock):
    """Time passes only while somebody sleeps."""

    at = 0.0

    def monotonic(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds


def test_a_thousand_creations_stay_below_the_quota_of_every_minute(server: Scripted) -> None:
    clock, sent = StillClock(), []
    server.always = lambda asked: (sent.append(clock.at), (200, {}))[1]  # type: ignore[func-returns-value]
    google = GoogleApi("p", clock, RandomIds())
    for i in range(1000):
        google.call(CREATE, parent=ZONE, queuedResourceId=f"q{i}", body={})
    assert sent[31] == 0.0  # so many are replaced at once
    assert all(later - at > 60 for at, later in zip(sent, sent[PER_MINUTE["tpu", "create"] :], strict=False))
    assert clock.at < 1000 / PER_MINUTE["tpu", "create"] * 60 * 2
    google.close()


def test_who_cannot_wait_is_told_and_costs_nothing(server: Scripted) -> None:
    clock = StillClock()
    google = GoogleApi("p", clock, RandomIds(), patience_s=0)
    for i in range(36):
        google.call(CREATE, parent=ZONE, queuedResourceId=f"q{i}", body={})
    for _ in range(3):
        with pytest.raises(RateLimited, match="90 requests a minute") as caught:
            google.call(CREATE, parent=ZONE, queuedResourceId="late", body={})
    assert isinstance(caught.value, NotReady)
    assert (len(server.asked), clock.at) == (36, 0.0)
    clock.at = 1.3
    google.call(CREATE, parent=ZONE, queuedResourceId="late", body={})
    google.close()


def logged_in(*credentials: Credentials) -> GoogleApi:
    """A client that logs in as these in turn, on a server that is asked without TLS."""
    left = list(credentials)
    return GoogleApi("p", SystemClock(), RandomIds(), limit_s=5, login=lambda: left.pop(0) if left else credentials[-1])
