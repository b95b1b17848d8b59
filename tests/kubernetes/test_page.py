"""The way of docs/fleets/kubernetes.md from the images to the end of a bastion in its cluster, typed as it stands.

`kubectl` and `docker` are stood for by shell texts; ours are the real tools.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bastion.runners.kubernetes.deployment import rules_of_people
from tests.kubernetes.fake.hosting import BASTION_IMAGE, HostingCluster
from tests.kubernetes.fake.server import IMAGE
from tests.kubernetes.test_deployment import GIVEN, PAGE
from tests.kubernetes.test_hosting import ALL, Hosted
from tests.support.fleet import TOOLS
from tests.support.servers import gcs_server, new_bucket

BUCKET = "my-project-1-bastion"
PATIENCE_S = 500
KUBECTL = """#!/bin/sh
echo "kubectl $*" >>"$HOME/asked"
"""
DOCKER = f"""#!/bin/sh
echo "docker $*" >>"$HOME/asked"
case "$*" in inspect*bastion-worker) echo {IMAGE} ;; inspect*) echo {BASTION_IMAGE} ;; esac
"""


@pytest.fixture
def gcs_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A storage server of this page alone: the page names its bucket, as others do."""
    with gcs_server(tmp_path_factory.mktemp("gcs")) as (address, _):
        yield address


@pytest.fixture
def here(tmp_path: Path, gcs_address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hosted]:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs_address)  # what pods inherit
    new_bucket(gcs_address, BUCKET)
    with closing(HostingCluster(tmp_path / "pods", rules=rules_of_people(GIVEN))) as cluster:
        yield Hosted(tmp_path, BUCKET, gcs_address, cluster)


def test_what_the_page_says_is_what_happens(here: Hosted) -> None:
    for name, text in (("kubectl", KUBECTL), ("docker", DOCKER)):
        (here.folder / name).write_text(text)
        (here.folder / name).chmod(0o755)
    page = PAGE.read_text()
    steps = page[page.index("**1. ") : page.index("### Rights to create it")]
    typed = "".join(re.findall(r"```bash\n(.*?)```", steps, re.DOTALL))
    environ = {name: value for name, value in here.environ.items() if not name.startswith("BASTION_")}
    environ |= {"PATH": f"{here.folder}:{TOOLS}:{environ['PATH']}", "HOME": str(here.folder)}
    argv = ["bash", "-eu", "-o", "pipefail", "-c", typed]
    said = subprocess.run(argv, env=environ, cwd=here.folder, capture_output=True, text=True, timeout=PATIENCE_S)
    assert said.returncode == 0, said
    told = [line.removeprefix("would call: ") for line in said.stdout.splitlines() if line.startswith("would call: ")]
    assert (len(told), told) == (4, here.cluster.sent[:4])
    assert "\nhello\n" in said.stdout
    words = ("runs: pid", "already runs: pid", "is stopped", "runs on bastion-team-", "is deleted")
    assert [word for word in words if word not in said.stdout] == [], said.stdout
    assert here.cluster.names(*ALL) == set()
    asked = (here.folder / "asked").read_text()
    assert asked.index("docker build --target=bastion") < asked.index("docker push") < asked.index("kubectl create")
