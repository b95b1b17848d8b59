"""A bastion that lives in its cluster, from `bastion create` to `bastion delete`, by nothing but our two console scripts."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from bastion.cli.bastion.tool import TOOL
from bastion.cli.terminal import main
from bastion.platform.system import RandomIds, SystemClock
from bastion.runners.kubernetes import render
from bastion.runners.kubernetes.client import ClusterLogin, KubernetesClient
from bastion.runners.kubernetes.deployment import rules, rules_of_people
from bastion.runners.kubernetes.runner import KubernetesRunner
from bastion.runners.kubernetes.settings import settings
from bastion.testing.fleets import sealing
from bastion.testing.stage import KEY, placement
from tests.kubernetes.fake.hosting import ADMIN, BASTION_IMAGE, BASTION_IMAGE_2, BROKEN_IMAGE, TOKEN, HostingCluster
from tests.kubernetes.fake.rights import rights
from tests.kubernetes.fake.server import IMAGE
from tests.kubernetes.test_whole_way import kubeconfig
from tests.support.fleet import Fleet, Said, until
from tests.support.servers import new_bucket

GIVEN = settings({"image": "i", "namespace": "ml"})
CREATE = ("--runner=kubernetes", "--namespace=ml", f"--worker_image={IMAGE}", f"--image={BASTION_IMAGE}", "--poll=0.1")
ROLES = "rbac.authorization.k8s.io"
OURS = ("ServiceAccount", "Role", "RoleBinding", "Deployment")
ALL = (*OURS, "Pod", "JobSet", "Job")


class Hosted(Fleet):
    """Our tools, led to a fake cluster and to a bucket that its pods reach."""

    def __init__(self, folder: Path, bucket: str, store: str, cluster: HostingCluster) -> None:
        super().__init__(folder)
        self.cluster = cluster
        self.environ |= {"BASTION_BUCKET": f"gs://{bucket}", "STORAGE_EMULATOR_HOST": store}
        self.environ["KUBECONFIG"] = str(kubeconfig(folder / "kubeconfig", cluster.url))

    def call(self, *words: str) -> Said:
        """The tool `bastion` in this process: for what needs no other, and is quick."""
        out, err = io.StringIO(), io.StringIO()
        code = main.run(TOOL, words, environ={**self.environ, "BASTION_USER": "ann"}, out=out, err=err)
        return Said(words, code, out.getvalue(), err.getvalue())

    def status(self) -> Any:
        return json.loads(self.call("status", "--json").stdout)

    def create_there(self, *words: str) -> Said:
        return self.run("bastion", "create", *CREATE, *words)

    def would(self, *words: str) -> list[str]:
        """The changes that a dry run tells."""
        said = self.call(*words, "--dry_run")
        assert said.returncode == 0, said
        return [line.removeprefix("would call: ") for line in said.stdout.splitlines() if line.startswith("would call")]


Make = Callable[..., Hosted]


@pytest.fixture
def make(tmp_path: Path, gcs_address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs_address)  # what pods inherit
    usual = str(tmp_path / "kubeconfig")  # which the client reads once, when it is imported
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", usual)
    clusters: list[HostingCluster] = []

    def made(**cluster: Any) -> Hosted:
        clusters.append(HostingCluster(tmp_path / "pods", **cluster))
        new_bucket(gcs_address, name := tmp_path.name.replace("_", "-"))
        return Hosted(tmp_path, name, gcs_address, clusters[0])

    yield made
    for cluster in clusters:
        cluster.close()


def test_from_a_dry_run_to_a_jobs_log_to_an_upgrade_and_to_nothing(make: Make) -> None:
    here = make(rules=rules_of_people(GIVEN))
    cluster = here.cluster
    would = here.would("create", *CREATE, "--capacity=cpu=8")
    assert (len(would), cluster.sent, cluster.names(*ALL)) == (4, [], set())

    created = here.create_there("--capacity=cpu=8", "--service_account=worker")
    assert created.returncode == 0, created
    assert cluster.sent == would, "what a dry run prints is what is sent"
    [row] = json.loads(here.call("list", "--json").stdout)["bastions"]
    (name,) = cluster.names(*OURS)
    assert (row["state"], row["lodging"]) == ("running", f"{name} in namespace ml: RUNNING")
    assert "epoch 1" in here.call("logs", "--console").stdout
    again = here.create_there()
    assert (again.returncode, "already runs" in again.stdout, cluster.sent) == (0, True, would), again

    waits = f"echo in a pod; while [ ! -e {here.folder}/go ]; do sleep 0.1; done"
    job = here.submit("there", "--resources=cpu=1", run=waits)
    here.await_state(job, "RUNNING")
    [pod] = [row for row in cluster.rows("Pod") if row["spec"]["containers"][0]["image"] == IMAGE]
    assert (pod["metadata"]["namespace"], pod["spec"]["serviceAccountName"]) == ("ml", "worker")
    until(lambda: "in a pod\n" in here.log(job))
    epoch = here.status()["epoch"]
    upgraded = here.run("bastion", "create", f"--image={BASTION_IMAGE_2}")
    assert upgraded.returncode == 0, upgraded
    assert "already runs" in here.call("create").stdout, "it goes by what is stored"
    assert here.status()["epoch"] == epoch + 1
    assert here.job(job)["state"] == "RUNNING"

    assert [line.split()[0] for line in here.would("stop")] == ["PATCH"]
    with here.running("bastion", "stop", "--drain") as drain:
        assert here.status()["state"] == "running"
        (here.folder / "go").touch()
        assert (here.wait(job), len(here.job(job)["attempts"])) == (0, 1), "no job notices an upgrade"
        assert drain.communicate()[0] == "bastion demo is stopped\n"
    assert here.call("stop").stdout == "bastion demo was already stopped\n"
    assert f"{name} in namespace ml: STOPPED" in here.call("status").stdout
    assert here.run("bastion", "start").stdout == f"bastion demo runs on {name} in namespace ml\n"

    (here.folder / "go").unlink()
    left = here.submit("left", "--resources=cpu=1", run=waits)
    here.await_state(left, "RUNNING")
    refused = here.call("delete")
    assert (refused.returncode, "has jobs that have not ended (left-" in refused.stderr) == (1, True), refused
    would, before = here.would("delete", "--purge"), len(cluster.sent)
    forced = here.run("bastion", "delete", "--force", "--purge", "--yes")
    assert forced.returncode == 0, forced
    assert {line.split()[1] for line in cluster.sent[before:]} <= {line.split()[1] for line in would}
    until(lambda: cluster.names(*ALL) == set())
    assert cluster.rights.used[ADMIN] == set(rights(rules_of_people(GIVEN))) - {("patch", ROLES, "roles")}
    (account,) = cluster.rights.used.keys() - {ADMIN}
    assert cluster.rights.used[account] <= set(rights(rules(GIVEN)))
    assert cluster.refused == set()


def fails(here: Hosted, said: Said, *words: str, code: int = 1) -> None:
    """One line, and nothing was changed that is not told."""
    assert (said.returncode, said.stderr.count("error: "), said.stdout) == (code, 1, ""), said
    assert [word for word in words if word not in said.stderr] == [], said


def test_a_bastion_that_does_not_come_up_says_why_and_may_be_made_or_deleted_again(make: Make) -> None:
    here = make()
    create = ("create", *CREATE)
    fails(
        here,
        here.call(*create, "--image=nobody/has:1"),
        "did not start on bastion-demo-",
        "it printed nothing",
        "ImagePullBackOff",
        "nobody/has:1",
    )
    made, sent = here.cluster.rows("Deployment"), len(here.cluster.sent)
    fails(here, here.call(*create, f"--image={BROKEN_IMAGE}"), "CrashLoopBackOff", "there is no bucket")
    assert [line.split()[0] for line in here.cluster.sent[sent:]] == ["PATCH"]
    assert [row["metadata"]["uid"] for row in here.cluster.rows("Deployment")] == [made[0]["metadata"]["uid"]]
    config = here.call("config", "show").stdout
    assert all(word in config for word in ("kubernetes", IMAGE, "ml", "deployed_in")), config
    deleted = here.call("delete", "--yes")
    assert (deleted.returncode, here.cluster.names(*OURS)) == (0, set()), deleted
    assert "hosting" not in here.call("status").stdout, "it is forgotten"
    fails(here, here.call("logs", "--console"), "runs on no VM and in no Deployment", code=2)


def test_an_account_that_its_user_made_is_used_and_left_alone(make: Make) -> None:
    here = make()
    name = here.would("create", *CREATE)[0].split('"name": "')[1].split('"')[0]
    here.cluster.keep("ServiceAccount", name)
    fails(here, here.call("create", *CREATE, f"--image={BROKEN_IMAGE}"), "CrashLoopBackOff")
    assert here.call("delete", "--yes").returncode == 0
    assert (here.cluster.names(*OURS), here.cluster.names("ServiceAccount")) == ({name}, {name})


def test_pods_of_no_job_are_not_forgotten(make: Make) -> None:
    here = make()
    assert here.call("create", *CREATE, "--image=nobody/has:1").returncode == 1
    (name,) = here.cluster.names("Deployment")
    stray = KubernetesRunner(
        api=KubernetesClient(
            lambda: ClusterLogin(here.cluster.url, lambda: {"authorization": f"Bearer {TOKEN}"}), SystemClock()
        ),
        settings=settings({"image": "nobody/has:1", "namespace": "ml"}),
        scope=name.removeprefix("bastion-"),
        ids=RandomIds(),
        seal=sealing(),
        clock=SystemClock(),
        worker=render.WorkerFlags(bucket="gs://none"),
    )
    stray.create(placement(KEY))
    fails(here, here.call("delete", "--yes"), "has machines that are not gone (train-", "or delete them with --force")
    assert here.cluster.names("Deployment") == {name}
    forced = here.call("delete", "--force", "--yes")
    assert (forced.returncode, here.cluster.names(*OURS, "JobSet")) == (0, set()), forced


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (["--runner=gce"], "--runner is 'gce'; use kubernetes, slurm, ray", 2),
        (["--runner=kubernetes"], "use --worker_image=", 2),
        (CREATE[:3], "use --image=REGISTRY/bastion", 2),
        ([*CREATE, "--bucket=file:///tmp"], "which no pod can reach", 2),
        ([*CREATE, "--gcp_zone=z"], "--gcp_zone and --runner choose two places", 2),
        (["--image=i"], "use --gcp_project=PROJECT, or --runner=kubernetes", 2),
        ([*CREATE, "--namespace=lm"], "has no namespace lm; run kubectl create namespace lm", 1),
        ([*CREATE, "--namespace=L"], "namespace is 'L'; use a name", 2),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_made(words: list[str], said: str, code: int, make: Make) -> None:
    here = make()
    fails(here, here.call("create", *words), said, code=code)
    assert (here.cluster.sent, here.call("status").returncode) == ([], 1)


def test_who_lacks_rights_is_told_which(make: Make) -> None:
    here = make(rules=[rule for rule in rules_of_people(GIVEN) if rule["resources"] != ["jobsets"]])
    fails(here, here.call("create", *CREATE), "attempting to grant RBAC permissions not currently held", "jobsets")
    fails(
        here, here.call("create", *CREATE, "--namespace=other"),
        'cannot get resource "namespaces"', "ask an admin of the cluster for the right",
    )  # fmt: skip


def test_a_cluster_that_is_away_or_another_is_told_and_left_alone(make: Make) -> None:
    here = make()
    assert here.call("create", *CREATE, "--image=nobody/has:1").returncode == 1
    here.cluster.fails(".*", 503, times=10**9)
    assert "not known: Kubernetes refuses GET" in here.call("list").stdout
    here.cluster.mend()
    (here.folder / "kubeconfig").rename(here.folder / "old")
    fails(here, here.call("delete"), "cannot connect to a Kubernetes cluster")
    (here.folder / "old").rename(here.folder / "kubeconfig")
    kubeconfig(here.folder / "kubeconfig", "http://127.0.0.1:9")
    fails(here, here.call("stop"), "Kubernetes does not answer at http://127.0.0.1:9")
    kubeconfig(here.folder / "kubeconfig", here.cluster.url)
    here.cluster.id = uuid4()
    sent = len(here.cluster.sent)
    for words in (("stop",), ("delete", "--yes"), ("create", "--image=other:1")):
        fails(here, here.call(*words), "is in another cluster: its namespace ml has the uid")
    assert len(here.cluster.sent) == sent
