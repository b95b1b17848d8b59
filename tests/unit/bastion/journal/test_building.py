"""A job whose image is still being built: it waits, then it starts from that very image, or ends with a link to the log."""

from __future__ import annotations

from typing import Any

from bastion.journal import snapshot
from bastion.journal.recover import spec_of
from bastion.model import layout
from bastion.model.codec import decode
from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, BuildResult
from bastion.model.job.spec import BundleRef
from bastion.model.job.spec_changes import Changes, revised
from bastion.model.state.state import JobState
from bastion.model.stored.events import ImageBuilt, Lapsed, RequestRejected
from bastion.model.stored.records import Order
from bastion.model.stored.requests import Hold, Release, Update
from tests.support.town import Town
from tests.support.world import spec

IMAGE, DIGEST = "europe-west4-docker.pkg.dev/p/images/train", "0123456789abcdef" * 4
BUILD, OTHER = (f"projects/p/locations/europe-west4/builds/{name}" for name in ("one", "two"))
LOG = "https://console.cloud.google.com/cloud-build/builds;region=europe-west4/one?project=p"
MADE = BuildResult(images={IMAGE: DIGEST})


def unbuilt(build: str = BUILD, **fields: Any) -> dict[str, Any]:
    return {"bundle": BundleRef(type="image", image=IMAGE, build=build), **fields}


def order_of(town: Town, job: str, attempt: int = 0) -> BundleRef:
    key = layout.order(AttemptKey(job, 0, attempt))
    return decode(town.bucket.inner.read(key).data, Order, key).bundle


def test_a_job_waits_for_its_image_and_runs_the_one_that_was_made() -> None:
    town = Town()
    job = town.submits(**unbuilt())
    town.ticks(5)
    assert town.job(job).state is JobState.PENDING
    assert town.reasons() == {job: f"waits for its image to be built: {LOG}"}
    town.builds.ends[BUILD] = MADE
    town.ticks(20)
    assert town.job(job).state is JobState.PROVISIONING
    assert order_of(town, job) == BundleRef(type="image", image=IMAGE, build=BUILD, digest=DIGEST)
    assert spec_of(town.bucket.inner, town.job(job)).bundle.digest == DIGEST
    assert town.bastion.journal.state.builds == {}


def test_builds_are_asked_about_together_and_only_while_somebody_waits() -> None:
    town = Town()
    jobs = [town.submits(**unbuilt(build)) for build in (BUILD, OTHER, BUILD)]
    town.ticks(61)
    assert {frozenset(asked) for asked in town.builds.asked} == {frozenset({BUILD, OTHER})}
    assert 4 <= len(town.builds.asked) <= 5, "every 15 s"
    for job in jobs:
        town.cancels(job)
    town.ticks(2)
    asked = len(town.builds.asked)
    town.ticks(60)
    assert len(town.builds.asked) == asked
    assert town.bastion.journal.state.builds == {}


def test_a_build_that_fails_ends_its_jobs_with_a_link_to_the_log() -> None:
    town = Town()
    job = town.submits(**unbuilt())
    town.builds.ends[BUILD] = BuildResult(images={}, problem="FAILURE: step 0 ended with exit code 1")
    town.ticks(20)
    assert town.job(job).state is JobState.FAILED
    told = f"the image could not be built: FAILURE: step 0 ended with exit code 1; log: {LOG}"
    assert town.job(job).reason == told
    assert [event.reason for event in town.journal() if isinstance(event, Lapsed)] == [told]


def test_a_build_that_made_something_else_is_no_image_for_the_job() -> None:
    town = Town()
    job = town.submits(**unbuilt())
    town.builds.ends[BUILD] = BuildResult(images={"gcr.io/another": DIGEST})
    town.ticks(20)
    assert town.job(job).state is JobState.FAILED
    assert f"the build made no {IMAGE}" in town.job(job).reason


def test_who_waits_for_the_job_waits_for_its_image_too() -> None:
    town = Town()
    job = town.submits(**unbuilt())
    town.ticks(2)
    after = town.submits(name="after", after=[f"ok:{job}"])
    town.builds.ends[BUILD] = BuildResult(images={}, problem="TIMEOUT")
    town.ticks(20)
    assert town.job(after).state is JobState.CANCELLED
    assert "TIMEOUT" in town.job(after).reason


def test_what_cannot_be_asked_is_told_and_asked_again() -> None:
    town = Town()
    job = town.submits(**unbuilt())
    town.builds.ends[BUILD] = RunnerError("builds.list in projects/p: no permission cloudbuild.builds.list")
    town.ticks(20)
    assert town.job(job).state is JobState.PENDING
    assert any("cloudbuild.builds.list" in problem for problem in town.status().problems)
    town.builds.ends[BUILD] = MADE
    town.ticks(40)
    assert town.job(job).state is JobState.PROVISIONING
    assert not town.status().problems


def test_a_start_of_the_bastion_goes_on_waiting() -> None:
    town = Town()
    job = town.submits(**unbuilt())
    town.ticks(3)
    snapshot.make(town.bucket.inner)
    town.bastion = town.begin()
    town.builds.ends[BUILD] = MADE
    town.ticks(20)
    assert town.job(job).state is JobState.PROVISIONING
    town.bastion = town.begin()
    town.ticks(5)
    assert order_of(town, job).digest == DIGEST


def test_a_held_job_stays_held_when_its_image_is_there() -> None:
    town = Town()
    job = town.submits(**unbuilt())
    town.ticks(2)
    town.asks(Hold(job=job))
    town.builds.ends[BUILD] = MADE
    town.ticks(20)
    assert "held by" in town.reasons()[job]
    town.asks(Release(job=job))
    town.ticks(3)
    assert town.job(job).state is JobState.PROVISIONING


def test_a_new_command_with_code_that_is_there_waits_for_nothing() -> None:
    town = Town()
    job = town.submits(**unbuilt())
    town.ticks(2)
    new = BundleRef(type="image", image=IMAGE, digest="f" * 64)
    town.asks(Update(job=job, changes=Changes(command="new", bundle=new)))
    town.ticks(3)
    assert town.job(job).state is JobState.PROVISIONING
    assert order_of(town, job) == new
    assert town.bastion.journal.state.builds == {}
    assert not any(isinstance(event, ImageBuilt) for event in town.journal())


def test_a_new_command_whose_image_is_not_built_is_refused() -> None:
    town = Town()
    job = town.submits()
    town.ticks(2)
    town.asks(Update(job=job, changes=Changes(command="new", **unbuilt())))
    town.ticks(2)
    assert ["not built yet" in event.reason for event in town.journal() if isinstance(event, RequestRejected)] == [True]


def test_only_what_needs_a_digest_gets_one() -> None:
    plain, waiting = spec(), spec(**unbuilt())
    assert revised(plain, digest=DIGEST) is plain
    assert revised(waiting, digest="") is waiting
    assert revised(revised(waiting, digest=DIGEST), digest="f" * 64).bundle.digest == DIGEST
