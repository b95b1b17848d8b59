"""From the command line through a bastion and a cluster to the log of a job; and what is said while the cluster is away."""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bastion.model.errors import RunnerError
from bastion.runners.kubernetes.client import log_in
from tests.kubernetes.fake.containers import Image
from tests.kubernetes.fake.server import IMAGE, Cluster
from tests.kubernetes.test_images import BUNDLE, busybox
from tests.support.fleet import Fleet, until

SETTINGS = f"""
runners = ["kubernetes"]
admins = ["{getpass.getuser()}"]
[capacity]
cpu = 8
[runner_options.kubernetes]
image = "{IMAGE}"
namespace = "ml"
"""


def kubeconfig(path: Path, url: str) -> Path:
    """A way into a cluster, as people have it."""
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "here",
                "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": url}}],
                "users": [{"name": "u", "user": {"token": "sesame"}}],
            }
        )
    )
    return path


@dataclass
class Ground:
    """A bastion whose fleet is a cluster."""

    fleet: Fleet
    cluster: Cluster


@pytest.fixture
def context(tmp_path: Path) -> Iterator[Ground]:
    cluster, fleet = Cluster(tmp_path / "pods"), Fleet(tmp_path)
    fleet.environ["KUBECONFIG"] = str(kubeconfig(tmp_path / "kubeconfig", cluster.url))
    fleet.put("config.toml", SETTINGS.encode())
    yield Ground(fleet, cluster)
    cluster.mend()
    fleet.close()
    cluster.close()


def test_a_job_runs_in_a_pod_also_while_the_cluster_is_away(context: Ground) -> None:
    fleet, cluster = context.fleet, context.cluster
    said = fleet.run("bastion", "create", "--poll=0.1")
    assert said.returncode == 0, said
    job = fleet.submit(
        "there", "--resources=cpu=1", run=f"echo in a pod; while [ ! -e {fleet.folder}/go ]; do sleep 0.1; done"
    )
    fleet.await_state(job, "RUNNING")
    assert cluster.logins == {"Bearer sesame"}
    until(lambda: "in a pod\n" in fleet.log(job))
    cluster.fails(".*", 503, times=10**9)
    until(lambda: any("kubernetes" in problem and "503" in problem for problem in fleet.problems()))
    late = fleet.submit("late", "--resources=cpu=1", run="echo late")
    assert fleet.job(job)["state"] == "RUNNING"
    cluster.mend()
    (fleet.folder / "go").touch()
    assert [fleet.wait(job), fleet.wait(late)] == [0, 0]
    assert [len(fleet.job(one)["attempts"]) for one in (job, late)] == [1, 1]


def test_a_way_in_is_that_of_a_kubeconfig(tmp_path: Path) -> None:
    login = log_in(str(kubeconfig(tmp_path / "k", "https://example.test")), "here")
    assert (login.url, login.headers()) == ("https://example.test", {"authorization": "Bearer sesame"})


@pytest.mark.parametrize(("text", "context"), [(None, ""), ("{", ""), ("", ""), ("{}", "x"), (None, "x")])
def test_no_way_in_is_told(text: str | None, context: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "k"
    if text is not None:
        file.write_text(text)
    with pytest.raises(RunnerError, match=r"cannot connect to a Kubernetes cluster: .*; set kubeconfig and context"):
        log_in(str(file), context)


def test_a_job_of_an_image_runs_in_it(context: Ground) -> None:
    fleet, cluster = context.fleet, context.cluster
    with cluster.changed() as kubelet:
        kubelet.images[BUNDLE.pinned] = Image(busybox(fleet.folder / "root"), "/app")
    assert fleet.run("bastion", "create", "--poll=0.1").returncode == 0
    bundle = {"type": BUNDLE.type, "image": BUNDLE.image, "digest": BUNDLE.digest}
    (fleet.folder / "spec.json").write_text(json.dumps({"bundle": bundle, "resources": {"cpu": 1}}))
    said = fleet.run("launch", f"--spec={fleet.folder}/spec.json", "--name=there", "--wait", "--", "cat", "words")
    assert said.returncode == 0, said
    assert fleet.log(said.stdout.strip()) == "from the image\n"
