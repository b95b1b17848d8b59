"""What people see of a job whose image is being built: why it waits, what became of it, and its log's address."""

from __future__ import annotations

from bastion.model.interfaces import BuildResult
from bastion.model.job.spec import BundleRef
from bastion.model.state.state import JobState
from tests.support.clients import Asked

IMAGE, DIGEST = "gcr.io/team/train", "ab" * 32
BUILD = "projects/p/locations/europe-west4/builds/one"
LOG = "https://console.cloud.google.com/cloud-build/builds;region=europe-west4/one?project=p"


def waiting() -> tuple[Asked, str]:
    town = Asked()
    job = town.submits(name="train", bundle=BundleRef(type="image", image=IMAGE, build=BUILD))
    town.ticks(3)
    return town, job


def test_why_names_the_build_and_where_its_log_is() -> None:
    town, _ = waiting()
    assert f"its image, which is being built: {LOG}" in town.launch("why", "train").out
    assert LOG in town.run("launch", "ls", "--all", "-owide").out
    (gate,) = town.launch("why", "train", "--json").json["waiting"]["gates"]
    assert (gate["what"], gate["at"]) == ("build", None)


def test_a_build_that_is_done_is_in_the_history_and_its_digest_in_the_spec() -> None:
    town, job = waiting()
    town.builds.ends[BUILD] = BuildResult(images={IMAGE: DIGEST})
    town.ticks(20)
    town.runs(job)
    assert f"its image is built: sha256:{DIGEST[:12]}" in town.run("launch", "history", "train").out
    assert town.launch("show", "train", "--json").json["spec"]["bundle"]["digest"] == DIGEST


def test_a_build_that_failed_is_the_end_of_the_job_for_everybody() -> None:
    town, job = waiting()
    town.builds.ends[BUILD] = BuildResult(images={}, problem="FAILURE: step 0")
    town.ticks(20)
    assert town.job(job).state is JobState.FAILED
    for command in ("why", "history", "show"):
        said = town.run("launch", command, "train")
        assert said.code == 0, said
        assert "FAILURE: step 0" in said.out
        assert LOG in said.out
    assert town.run("launch", "wait", "train").code == 100
