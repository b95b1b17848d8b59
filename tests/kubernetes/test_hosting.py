"""A bastion that lives in its cluster, from `bastion create` to `bastion delete`, by nothing but our two console scripts."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runners.kubernetes.deployment import rules, rules_of_people
from runners.kubernetes.settings import settings
from tests.e2e.fleet import Fleet, Said, until
from tests.kubernetes.fake.hosting import ADMIN, BASTION_IMAGE, BASTION_IMAGE_2, TOKEN, HostingCluster
from tests.kubernetes.fake.rights import rights
from tests.kubernetes.fake.server import IMAGE
from tests.kubernetes.test_whole_way import kubeconfig
from tests.servers import new_bucket

GIVEN = settings({"image": "i", "namespace": "ml"})
OURS = ("ServiceAccount", "Role", "RoleBinding", "Deployment")
ALL = (*OURS, "Pod", "JobSet", "Job")


class Hosted(Fleet):
    """Our tools, led to a fake cluster and to a bucket that its pods reach."""

    def __init__(self, folder: Path, bucket: str, store: str, cluster: HostingCluster) -> None:
        super().__init__(folder)
        self.cluster = cluster
        self.environ |= {"BASTION_BUCKET": f"gs://{bucket}", "STORAGE_EMULATOR_HOST": store}
        self.environ["KUBECONFIG"] = str(kubeconfig(folder / "kubeconfig", cluster.url))

    def create(self, *words: str, image: str = BASTION_IMAGE) -> Said:
        where = ("--runner=kubernetes", "--namespace=ml", f"--worker_image={IMAGE}", f"--image={image}")
        return self.run("bastion", "create", *where, "--capacity=cpu=8", "--poll=0.1", *words)

    def would(self, *words: str) -> list[str]:
        """The changes that a dry run tells."""
        said = self.run("bastion", *words, "--dry_run")
        assert said.returncode == 0, said
        return [line.removeprefix("would call: ") for line in said.stdout.splitlines() if line.startswith("would call")]


Make = Callable[..., Hosted]


@pytest.fixture
def make(tmp_path: Path, gcs_address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs_address)  # what pods inherit
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
    would = here.would("create", *_words())
    assert (len(would), cluster.sent, cluster.names(*ALL)) == (4, [], set())

    created = here.create()
    assert created.returncode == 0, created
    assert cluster.sent == would
    [row] = here.ask("bastion", "list")["bastions"]
    (name,) = cluster.names(*OURS)
    assert (row["state"], row["lodging"]) == ("running", f"{name} in namespace ml: RUNNING")
    assert here.run("bastion", "logs", "--console").stdout
    again = here.create()
    assert (again.returncode, "already runs" in again.stdout, cluster.sent) == (0, True, would), again

    waits = f"echo in a pod; while [ ! -e {here.folder}/go ]; do sleep 0.1; done"
    job = here.submit("there", "--resources=cpu=1", run=waits)
    here.await_state(job, "RUNNING")
    until(lambda: "in a pod\n" in here.log(job))
    epoch = here.ask("bastion", "status")["epoch"]
    upgraded = here.run("bastion", "create", f"--image={BASTION_IMAGE_2}")
    assert upgraded.returncode == 0, upgraded
    assert here.ask("bastion", "status")["epoch"] == epoch + 1
    (here.folder / "go").touch()
    assert (here.wait(job), len(here.job(job)["attempts"])) == (0, 1), "no job notices an upgrade"

    assert here.would("stop") and here.ask("bastion", "status")["state"] == "running"
    assert here.run("bastion", "stop").stdout == "bastion demo is stopped\n"
    assert here.run("bastion", "stop").stdout == "bastion demo had stopped before\n"
    assert f"{name} in namespace ml: STOPPED" in here.run("bastion", "status").stdout
    assert here.run("bastion", "start").stdout == f"bastion demo runs on {name} in namespace ml\n"

    (here.folder / "go").unlink()
    left = here.submit("left", "--resources=cpu=1", run=waits)
    here.await_state(left, "RUNNING")
    refused = here.run("bastion", "delete")
    assert (refused.returncode, "has jobs that have not ended (left-" in refused.stderr) == (1, True), refused
    forced = here.run("bastion", "delete", "--force", "--purge", "--yes")
    assert forced.returncode == 0, forced
    until(lambda: cluster.names(*ALL) == set())
    assert cluster.rights.used[ADMIN] == set(rights(rules_of_people(GIVEN))) - {("patch", _ROLES, "roles")}
    (account,) = cluster.rights.used.keys() - {ADMIN}
    assert cluster.rights.used[account] <= set(rights(rules(GIVEN)))


_ROLES = "rbac.authorization.k8s.io"


def _words() -> list[str]:
    return [
        "--runner=kubernetes", "--namespace=ml", f"--worker_image={IMAGE}", f"--image={BASTION_IMAGE}",
        "--capacity=cpu=8", "--poll=0.1",
    ]  # fmt: skip


_ = (getpass, TOKEN)
