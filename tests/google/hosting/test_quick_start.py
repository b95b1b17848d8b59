"""The quick start of docs/fleets/google.md, typed as it stands by somebody new, up to what a dry run tells before all else.

`gcloud` and `docker` are stood for by shell texts; ours are the real tools. From `bastion create` on: see test_whole_way.py.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.google.fake import Fake
from tests.google.support.own_vm import OwnVm
from tests.support.fleet import PATIENCE_S, TOOLS
from tests.support.servers import gcs_server

PAGE = Path(__file__).parents[3] / "docs/fleets/google.md"
PROJECT = "my-project-1"
DIGEST = "1" * 64
GCLOUD = """#!/bin/sh
echo "gcloud $*" >>"$HOME/asked"
case "$*" in
    "storage buckets create gs://"*)
        name=${4#gs://}
        curl -fsS -o "$HOME/answer" -H 'Content-Type: application/json' -d "{\\"name\\": \\"$name\\"}" \\
            "$STORAGE_EMULATOR_HOST/storage/v1/b?project=p" ;;
esac
"""
DOCKER = f"""#!/bin/sh
echo "docker $*" >>"$HOME/asked"
case $1 in inspect) for image; do :; done; echo "$image@sha256:{DIGEST}" ;; esac
"""


@pytest.fixture
def gcs_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A storage server of this page alone: the page names its bucket, as others do."""
    with gcs_server(tmp_path_factory.mktemp("gcs")) as (address, _):
        yield address


def test_the_first_three_steps_lead_to_a_dry_run_that_tells_what_the_page_says(
    tmp_path: Path, google: Fake, store: str, gcs_address: str
) -> None:
    here = OwnVm(tmp_path, google, store, gcs_address)
    for name, text in (("gcloud", GCLOUD), ("docker", DOCKER)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    page = PAGE.read_text()
    steps = page[page.index("**1. ") : page.index("**4. ")]
    typed = "".join(re.findall(r"```bash\n(.*?)```", steps, re.DOTALL))
    environ = {name: value for name, value in here.environ.items() if not name.startswith("BASTION_")}
    environ |= {"PATH": f"{tmp_path}:{TOOLS}:{environ['PATH']}", "HOME": str(tmp_path)}
    said = subprocess.run(
        ["bash", "-eu", "-c", typed], env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert said.returncode == 0, said
    (price,) = re.findall(r"```text\n(about .*?)\n```", steps)
    assert price in said.stderr
    told = [line for line in said.stdout.splitlines() if line.startswith("would call: ")]
    assert told[-1].startswith("would call: compute.instances.insert")
    image = f"us-central1-docker.pkg.dev/{PROJECT}/images/bastion@sha256:{DIGEST}"
    assert image in told[-1]
    assert here.changes() == []
    asked = (tmp_path / "asked").read_text()
    assert asked.index("docker build --target=bastion") < asked.index("docker push")
