"""How the fake takes requests: what Google's schemas do not know, what may not be, what goes wrong on the way."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from google.auth import default as default_login
from google.auth.exceptions import RefreshError
from google.auth.transport.requests import AuthorizedSession
from google.auth.transport.requests import Request as Asking
from googleapiclient.errors import HttpError
from requests import Session

from tests.google.fake import Fake
from tests.google.support.client import ask

PARENT = "projects/test-project/locations/us-central2-b"
NODE = {"acceleratorType": "v4-8", "runtimeVersion": "tpu-ubuntu2204-base"}
Talk = Callable[..., Any]


def send(google: Fake, service: str, verb: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
    """A request as it is written, past all checks of a client."""
    sent = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(google.endpoint(service) + path, sent, method=verb)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)["error"]


QUEUED = f"v2/{PARENT}/queuedResources?queuedResourceId=q"
NODES = f"v2/{PARENT}/nodes?nodeId=n"
VMS = "projects/test-project/zones/us-central1-a/instances"


@pytest.mark.parametrize(
    ("service", "verb", "path", "body", "said"),
    [
        ("tpu", "GET", f"v2/{PARENT}/pods", None, "this path is unknown"),
        ("tpu", "GET", "v1/projects/p", None, "this path is unknown"),
        ("tpu", "PUT", f"v2/{PARENT}/nodes/n", None, "has no such verb"),
        ("tpu", "GET", f"v2/{PARENT}/nodes?max=3", None, 'Unknown name "max"'),
        ("tpu", "GET", f"v2/{PARENT}/nodes?pageSize=few", None, "an integer is wanted"),
        ("tpu", "POST", NODES, NODE | {"colour": "red"}, 'Unknown name "colour"'),
        ("tpu", "POST", NODES, {"acceleratorType": "v4-8"}, "field 'runtimeVersion': required"),
        ("tpu", "POST", NODES, NODE | {"state": "READY"}, "output only"),
        ("tpu", "POST", NODES, NODE | {"tags": "red"}, "a list is wanted"),
        ("tpu", "POST", NODES, NODE | {"labels": {"n": 1}}, "a string is wanted"),
        ("tpu", "POST", NODES, NODE | {"networkConfig": {"enableExternalIps": "no"}}, "true or false is wanted"),
        ("tpu", "POST", NODES, NODE | {"acceleratorConfig": {"type": "V9", "topology": "1x1"}}, "is none of"),
        (
            "tpu",
            "POST",
            QUEUED,
            {"tpu": {"nodeSpec": [{"node": NODE, "nodeId": "n"}]}},
            "nodeSpec[0].parent': required",
        ),
        ("tpu", "POST", QUEUED, {"queueingPolicy": {"validUntilDuration": "1 hour"}}, "is no google-duration"),
        ("tpu", "POST", QUEUED, {"queueingPolicy": {"validUntilTime": "tomorrow"}}, "is no google-datetime"),
        ("compute", "POST", VMS, {"machineType": "e2-small"}, "field 'name': required"),
        ("compute", "POST", VMS, {"name": "Upper"}, "Must be a match of regex"),
        ("compute", "POST", VMS, {"name": "a", "disks": [{"diskSizeGb": "big"}]}, "is no int64"),
        ("compute", "POST", VMS, {"name": "a", "id": "7"}, "output only"),
        ("compute", "POST", VMS + "/a/stop", {"force": True}, "body must be empty"),
        ("iam", "POST", "v1/projects/p/serviceAccounts", {"email": "a@b"}, 'Unknown name "email"'),
    ],
)
def test_what_google_does_not_know_is_a_mistake(
    google: Fake, service: str, verb: str, path: str, body: object, said: str
) -> None:
    code, error = send(google, service, verb, path, body)
    assert (code, error["code"]) == (400, 400)
    assert said in error["message"]
    assert len(google.mistakes) == 1
    google.mistakes.clear()


def test_a_mistake_makes_the_test_fail() -> None:
    with pytest.raises(AssertionError, match="Google's schemas do not know"), Fake() as google:
        send(google, "tpu", "GET", f"v2/{PARENT}/pods")


def test_errors_have_the_shape_of_their_service(google: Fake) -> None:
    code, error = send(google, "compute", "GET", f"{VMS}/lost")
    assert (code, error["errors"][0]["reason"]) == (404, "notFound")
    code, error = send(google, "tpu", "GET", f"v2/{PARENT}/nodes/lost")
    assert (code, error["status"]) == (404, "NOT_FOUND")


def test_a_missing_permission_is_named(google: Fake, talk: Talk) -> None:
    google.faults.deny("tpu.nodes.create")
    google.faults.deny("compute.instances.list")
    google.faults.deny("iam.serviceAccounts.actAs", resource="*/worker@*")
    code, error = send(google, "tpu", "POST", NODES, NODE)
    assert (code, error["status"]) == (403, "PERMISSION_DENIED")
    assert error["details"][0]["metadata"] == {"permission": "tpu.nodes.create", "resource": PARENT}
    code, error = send(google, "compute", "GET", "projects/test-project/aggregated/instances")
    assert (code, error["errors"][0]["reason"]) == (403, "forbidden")
    assert error["message"] == "Required 'compute.instances.list' permission for 'projects/test-project'"
    email = "worker@test-project.iam.gserviceaccount.com"
    code, error = send(google, "compute", "POST", VMS, {"name": "a", "serviceAccounts": [{"email": email}]})
    assert (code, "iam.serviceAccounts.actAs" in error["message"]) == (403, True)


def test_a_service_account_has_what_its_roles_give(google: Fake, talk: Talk) -> None:
    parent = "projects/test-project"
    made = ask(talk("iam").projects().serviceAccounts().create(name=parent, body={"accountId": "bastion"}))
    nodes = talk("tpu", account=made["email"]).projects().locations().nodes()
    with pytest.raises(HttpError, match=r"tpu\.nodes\.list"):
        ask(nodes.list(parent=PARENT))
    role = {"roleId": "bastion", "role": {"title": "Bastion", "includedPermissions": ["tpu.nodes.list"]}}
    given = ask(talk("iam").projects().roles().create(parent=parent, body=role))["name"]
    policies = talk("cloudresourcemanager").projects()
    policy = ask(policies.getIamPolicy(resource=parent, body={}))
    bindings = [{"role": given, "members": [f"serviceAccount:{made['email']}"]}]
    ask(policies.setIamPolicy(resource=parent, body={"policy": policy | {"bindings": bindings}}))
    assert ask(nodes.list(parent=PARENT)) == {}
    with pytest.raises(HttpError, match=r"tpu\.nodes\.get"):
        ask(nodes.get(name=f"{PARENT}/nodes/n"))
    asked = {"permissions": ["tpu.nodes.list", "tpu.nodes.get"]}
    own = talk("cloudresourcemanager", account=made["email"]).projects()
    assert ask(own.testIamPermissions(resource=parent, body=asked)) == {"permissions": ["tpu.nodes.list"]}
    with pytest.raises(HttpError, match="concurrent policy changes"):
        ask(policies.setIamPolicy(resource=parent, body={"policy": policy}))


def test_credentials_are_known_and_expire(google: Fake, talk: Talk) -> None:
    good = talk("tpu", token=google.token("eve@example.com")).projects().locations()
    ask(good.nodes().list(parent=PARENT))
    assert google.calls("tpu.")[-1].account == "eve@example.com"
    with pytest.raises(HttpError) as unknown:
        ask(talk("tpu", token="ya29.other").projects().locations().nodes().list(parent=PARENT))
    assert unknown.value.status_code == 401
    google.faults.expire_credentials()
    with pytest.raises(HttpError, match="invalid authentication credentials"):
        ask(good.nodes().list(parent=PARENT))
    google.faults.renew_credentials()
    ask(good.nodes().list(parent=PARENT))


def test_a_login_gives_tokens_until_it_expires(google: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in google.login(tmp_path / "adc.json", "eve@example.com").items():
        monkeypatch.setenv(name, value)
    credentials, _ = default_login(scopes=["https://www.googleapis.com/auth/cloud-platform"])
    session = Session()
    session.trust_env = False
    with session, AuthorizedSession(credentials, auth_request=Asking(session)) as login:
        login.trust_env = False
        assert login.get(google.endpoint("tpu") + f"v2/{PARENT}/nodes").json() == {}
        assert google.calls("tpu.")[-1].account == "eve@example.com"
        told = login.get(f"{google.url}/oauth2/tokeninfo", params={"access_token": credentials.token}).json()
        assert told["email"] == "eve@example.com"
        google.faults.expire_credentials()
        with pytest.raises(RefreshError, match="expired or revoked"):
            login.get(google.endpoint("tpu") + f"v2/{PARENT}/nodes")


def test_a_service_may_be_switched_off(google: Fake, talk: Talk) -> None:
    google.faults.disable("tpu.googleapis.com")
    nodes = talk("tpu").projects().locations().nodes()
    with pytest.raises(HttpError, match="has not been used in project test-project before or it is disabled"):
        ask(nodes.list(parent=PARENT))
    usage = talk("serviceusage")
    made = ask(usage.services().enable(name="projects/test-project/services/tpu.googleapis.com", body={}))
    google.clock.advance(10)
    assert ask(usage.operations().get(name=made["name"]))["done"]
    assert ask(nodes.list(parent=PARENT)) == {}


def test_requests_fail_are_dropped_lose_their_answer_or_come_late(google: Fake) -> None:
    method = "tpu.projects.locations.nodes.create"

    def create(name: str) -> int:
        return send(google, "tpu", "POST", f"v2/{PARENT}/nodes?nodeId={name}", NODE)[0]

    google.faults.fail(method, 503)
    assert create("failed") == 503
    google.faults.drop(method)
    with pytest.raises((http.client.HTTPException, OSError)):
        create("dropped")
    google.faults.lose_answer(method)
    with pytest.raises((http.client.HTTPException, OSError)):
        create("lost")
    google.faults.come_late(method, 300, code=504)
    assert create("late") == 504
    assert [name.rpartition("/")[2] for name in google.rows("nodes")] == ["lost"]
    google.clock.advance(301)
    assert [name.rpartition("/")[2] for name in google.rows("nodes")] == ["late", "lost"]
    assert [one.code for one in google.calls(method)] == [503, 0, 0, 504]


def test_googles_client_itself_sends_a_request_again_if_its_answer_is_lost(google: Fake, talk: Talk) -> None:
    """httplib2 does, a creation as well: so it is answered with 409 by the first one's effect, or needs a request id."""
    google.faults.lose_answer("tpu.projects.locations.nodes.create")
    with pytest.raises(HttpError) as taken:
        ask(talk("tpu").projects().locations().nodes().create(parent=PARENT, nodeId="n", body=NODE))
    assert taken.value.status_code == 409
    assert [one.code for one in google.calls("tpu.")] == [0, 409]


def test_faults_may_be_drawn(google: Fake, talk: Talk) -> None:
    nodes = talk("tpu").projects().locations().nodes()
    google.faults.draw(Random(1), {"fail": 0.5})
    codes = []
    for _ in range(40):
        try:
            ask(nodes.list(parent=PARENT))
        except HttpError as error:
            codes.append(error.status_code)
    assert 10 < len(codes) < 30
    assert set(codes) <= {429, 500, 502, 503, 504}
    google.faults.calm()
    ask(nodes.list(parent=PARENT))


def test_a_storm_takes_machines_and_its_seed_says_which() -> None:
    def lost(seed: int) -> list[str]:
        with Fake() as google:
            for n in range(9):
                send(google, "tpu", "POST", f"v2/{PARENT}/nodes?nodeId=n{n}", NODE)
            google.clock.advance(100)
            google.storm(Random(seed), 600)
            google.clock.advance(3000)
            return [f"{name[-2:]} {row['state']}" for name, row in google.rows("nodes").items()]

    assert lost(1) == lost(1) != lost(2)
    assert any("PREEMPTED" in one for one in lost(1))


def test_requests_per_minute_are_counted(google: Fake, talk: Talk) -> None:
    google.rates.most |= {"tpu": 3, "compute": 2}
    nodes, vms = talk("tpu").projects().locations().nodes(), talk("compute").instances()
    for _ in range(3):
        ask(nodes.list(parent=PARENT))
    with pytest.raises(HttpError) as many:
        ask(nodes.list(parent=PARENT))
    assert many.value.status_code == 429
    for _ in range(2):
        ask(vms.list(project="test-project", zone="us-central1-a"))
    ask(vms.list(project="test-project", zone="us-west1-b"))
    with pytest.raises(HttpError, match="List requests per minute") as many:
        ask(vms.list(project="test-project", zone="us-central1-b"))
    assert many.value.status_code == 403
    assert google.rates.refused == 2
    google.clock.advance(60)
    ask(nodes.list(parent=PARENT))


def test_the_clock_may_follow_the_real_one() -> None:
    with Fake(speed=1000) as google:
        send(google, "tpu", "POST", NODES, NODE)
        assert google.clock.until(lambda: any(row["state"] == "READY" for row in google.rows("nodes").values()), 3600)
