"""Images that Cloud Build makes, against Google's own schema: by the bundler, and as the bastion waits for them."""

from __future__ import annotations

import io
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bastion.bundler.interface import Bundle
from bastion.bundler.tar import TarBundler
from bastion.cli.common.bundler_settings import settings_of
from bastion.cli.common.bundling import reference
from bastion.cli.common.image_bundling import image_bundler
from bastion.model.errors import BastionError, BundleError, RunnerError, UsageError
from bastion.model.interfaces import BuildResult
from bastion.model.state.state import JobState
from bastion.platform.system import RandomIds, SystemClock
from bastion.runners.google.api.client import GoogleApi
from bastion.runners.google.api.cloud_builds import CloudBuilds
from bastion.runners.google.api.interface import PermissionMissing
from bastion.stores.memory import MemoryBucket
from tests.google.fake import Fake
from tests.google.fake.fake import PROJECT
from tests.images.folders import Code
from tests.support.town import Town

HOST = f"europe-west4-docker.pkg.dev/{PROJECT}/images"
REPOSITORY = f"projects/{PROJECT}/locations/europe-west4/repositories/images"
CREATE, LIST, GET = (f"cloudbuild.projects.locations.builds.{verb}" for verb in ("create", "list", "get"))


class CloudClock(SystemClock):
    """Whoever sleeps lets the fake's time pass, and none of ours."""

    def __init__(self, fake: Fake) -> None:
        self._fake = fake

    def sleep(self, seconds: float) -> None:
        self._fake.clock.advance(seconds)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with Fake() as running:
        for name, value in running.environment().items():
            monkeypatch.setenv(name, value)
        with running.clock.lock:
            running.cloud.rows.put(REPOSITORY, {"name": REPOSITORY, "format": "DOCKER", "mode": "STANDARD_REPOSITORY"})
        yield running


@pytest.fixture
def code(tmp_path: Path) -> Code:
    folder = Code(tmp_path / "code")
    folder.commit()
    return folder


@pytest.fixture
def pack(fake: Fake, code: Code) -> Callable[..., Bundle]:
    """The bundle of the folder, as the command line makes it: settings; `wait`, `said` and `bucket`."""
    home, kept = code.folder.parent / "home", MemoryBucket("memory://sources")

    def packed(
        *more: str,
        wait: bool = True,
        said: list[str] | None = None,
        bucket: MemoryBucket = kept,
        at: str = "gs://bkt/b",
    ) -> Bundle:
        clock = CloudClock(fake)
        settings = settings_of("cloudbuild", (f"repo={HOST}", "image=train", *more))
        tar = TarBundler(home=home, clock=clock, form="tar.gz")
        lines = [] if said is None else said
        bundler = image_bundler(
            settings, clock, lines.append, tar=tar, url_of=lambda key: f"{at}/{key}".rstrip("/"), wait=wait
        )
        return bundler.bundle(code.folder, bucket)

    return packed


def test_a_folder_is_uploaded_built_and_pinned(fake: Fake, pack: Callable[..., Bundle]) -> None:
    said, bucket = list[str](), MemoryBucket("memory://one")
    bundle = pack(
        "target=late", "GREETING=a $5 word", "platform=linux/amd64", "timeout_seconds=900", said=said, bucket=bucket
    )
    (build,) = fake.rows("builds").values()
    assert (bundle.image, f"sha256:{bundle.digest}") == (f"{HOST}/train", build["results"]["images"][0]["digest"])
    (stat,) = bucket.list("bundles/")
    assert build["source"]["storageSource"] == {"bucket": "bkt", "object": f"b/{stat.key}"}
    with tarfile.open(fileobj=io.BytesIO(bucket.read(stat.key).data), mode="r:gz") as archive:
        assert {"Dockerfile", "say.sh", ".dockerignore"} == set(archive.getnames())
    (step,) = build["steps"]
    assert step["args"] == [
        "build", f"--tag={build['images'][0]}", "--file=Dockerfile", "--target=late", "--platform=linux/amd64",
        "--build-arg=GREETING=a $$5 word", ".",
    ]  # fmt: skip
    assert (build["timeout"], build["tags"][0]) == ("900s", "bastion")
    assert said[0] == f"log of the build: {build['logUrl']}"
    assert [line.rpartition(": ")[2] for line in said[1:]] == ["QUEUED", "WORKING"]


def test_equal_code_is_built_once(fake: Fake, pack: Callable[..., Bundle], code: Code) -> None:
    first = pack("target=late")
    assert pack("target=late") == first
    assert len(fake.calls(CREATE)) == 1
    assert pack("target=early") != first
    (code.folder / "say.sh").write_text("changed\n")
    code.commit()
    assert pack("target=late") != first
    assert len(fake.calls(CREATE)) == 3


def test_an_image_that_was_removed_is_built_again(fake: Fake, pack: Callable[..., Bundle]) -> None:
    first = pack()
    name = f"{REPOSITORY}/dockerImages/train@sha256:{first.digest}"
    with fake.clock.lock:
        fake.cloud.rows.put(name, None)
    assert pack().digest != first.digest
    assert len(fake.calls(CREATE)) == 2


def test_who_does_not_wait_gets_the_build_and_a_link_to_its_log(fake: Fake, pack: Callable[..., Bundle]) -> None:
    bundle = pack(wait=False)
    (name, build), *_ = fake.rows("builds").items()
    assert (bundle.digest, bundle.build) == ("", name)
    assert bundle.notes == (f"log of the build: {build['logUrl']}",)
    assert pack(wait=False) == bundle, "the same build, which is under way"
    assert len(fake.calls(CREATE)) == 1


def test_a_build_that_fails_says_why_and_where_its_log_is(fake: Fake, pack: Callable[..., Bundle]) -> None:
    fake.faults.fail("build", message="build step 0 failed: exit code 7")
    with pytest.raises(
        BundleError, match=r"failed: FAILURE: build step 0 failed: exit code 7; log of the build: https://"
    ):
        pack()
    assert pack().digest, "and is built anew"


def test_a_lost_answer_makes_no_second_build(fake: Fake, pack: Callable[..., Bundle]) -> None:
    fake.faults.lose_answer(CREATE)
    assert pack().digest
    assert len(fake.rows("builds")) == 1


def test_a_pool_of_ones_own_says_where_to_build(fake: Fake, pack: Callable[..., Bundle]) -> None:
    pool = f"projects/{PROJECT}/locations/us-central1/workerPools/large"
    bundle = pack(f"private_worker_pool={pool}", wait=False)
    assert bundle.build.startswith(f"projects/{PROJECT}/locations/us-central1/builds/")
    (build,) = fake.rows("builds").values()
    assert build["options"]["pool"] == {"name": pool}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (None, r"there is no repository .*; ask an admin to run: gcloud artifacts repositories create images"),
        ({"format": "PYTHON"}, "takes no images; use a standard repository of format DOCKER"),
        (
            {"format": "DOCKER", "mode": "REMOTE_REPOSITORY"},
            "takes no images; use a standard repository of format DOCKER",
        ),
    ],
)
def test_a_repository_that_takes_no_images_is_told_first(
    fake: Fake, pack: Callable[..., Bundle], row: dict[str, str] | None, says: str
) -> None:
    with fake.clock.lock:
        fake.cloud.rows.put(REPOSITORY, row and {"name": REPOSITORY, **row})
    with pytest.raises(BundleError, match=says):
        pack()
    assert not fake.calls(CREATE)


def test_a_missing_right_and_a_bucket_of_another_kind_are_told(fake: Fake, pack: Callable[..., Bundle]) -> None:
    with pytest.raises(UsageError, match="cloudbuild needs bundles in a gs:// bucket"):
        pack(at="file:///x")
    fake.faults.deny("cloudbuild.builds.create")
    with pytest.raises(PermissionMissing, match=r"cloudbuild\.builds\.create"):
        pack()


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("is_asinc=true", "no such ARG; did you mean is_async"),
        ("is_async=yes", "use true or false"),
        ("timeout_seconds=1h", "use 1 to 86400"),
        ("private_worker_pool=large", "use projects/P/locations/L/workerPools/NAME"),
        ("platform=amd64", "use OS/ARCH"),
        ("image=train:v1", "with a tag"),
        ("skip_bundle=true", "no such ARG"),
        ("a-b=c", "--bundler_spec is 'a-b'"),
    ],
)
def test_what_makes_no_sense_is_said_at_once(pack: Callable[..., Bundle], setting: str, says: str) -> None:
    with pytest.raises(BastionError, match=says.replace(".", r"\.")):
        pack(setting)


def asker() -> CloudBuilds:
    return CloudBuilds(lambda project: GoogleApi(project, SystemClock(), RandomIds()))


def test_a_job_starts_when_its_image_is_there(fake: Fake, pack: Callable[..., Bundle]) -> None:
    town = Town(builds=asker())
    job = town.submits(bundle=reference(pack(wait=False)))
    town.ticks(20)
    assert town.job(job).state is JobState.PENDING
    fake.clock.advance(100)
    town.ticks(20)
    assert town.job(job).state is JobState.PROVISIONING
    (build,) = fake.rows("builds").values()
    assert f"sha256:{town.job(job).digest}" == build["results"]["images"][0]["digest"]


def test_a_job_ends_when_its_build_fails(fake: Fake, pack: Callable[..., Bundle]) -> None:
    fake.faults.fail("build", message="build step 0 failed")
    town = Town(builds=asker())
    job = town.submits(bundle=reference(pack(wait=False)))
    fake.clock.advance(100)
    town.ticks(20)
    (build,) = fake.rows("builds").values()
    assert town.job(job).state is JobState.FAILED
    assert town.job(job).reason == f"the image could not be built: FAILURE: build step 0 failed; log: {build['logUrl']}"


def test_a_pass_over_many_builds_is_one_request_for_each_place(fake: Fake) -> None:
    names = [_made(fake, number) for number in range(300)]
    builds = asker()
    assert builds.ended(names) == {}
    assert (len(fake.calls(LIST)), len(fake.calls(GET))) == (2, 0), "pages of 200"
    for number in range(300):
        _made(fake, number, "SUCCESS")
    ended = builds.ended(names)
    assert list(ended.values()) == [BuildResult(images={"gcr.io/p/a": f"{number:064x}"}) for number in range(300)]
    assert len(fake.calls("cloudbuild.")) == 4


def test_builds_that_no_listing_shows_are_asked_for_a_few_at_a_time(fake: Fake) -> None:
    gone = [f"projects/{PROJECT}/locations/europe-west4/builds/gone-{number}" for number in range(20)]
    builds = asker()
    first = builds.ended(gone)
    assert len(fake.calls(GET)) == 8
    assert {end.problem for end in first.values() if isinstance(end, BuildResult)} == {"Cloud Build has no such build"}
    assert first.keys() | builds.ended(gone).keys() | builds.ended(gone).keys() == set(gone)


def test_many_places_are_asked_in_turn(fake: Fake) -> None:
    names = [f"projects/{PROJECT}/locations/place-{number}/builds/x" for number in range(20)]
    builds = asker()
    for asked in (8, 16, 24):
        builds.ended(names)
        assert len(fake.calls(LIST)) == asked
    assert len({call.parameters["parent"] for call in fake.calls(LIST)}) == 20


def test_a_place_that_cannot_be_asked_is_told_and_the_others_are_asked(fake: Fake) -> None:
    name = _made(fake, 0, "SUCCESS")
    fake.faults.deny("cloudbuild.builds.list", resource="*us-east1*")
    denied = f"projects/{PROJECT}/locations/us-east1/builds/x"
    ended = asker().ended([denied, name])
    assert isinstance(ended[denied], PermissionMissing)
    assert isinstance(ended[name], BuildResult)


def test_a_bastion_without_googles_packages_says_which(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("googleapiclient", "googleapiclient.discovery", "googleapiclient.discovery_cache"):
        monkeypatch.setitem(sys.modules, name, None)
    (told,) = asker().ended([f"projects/{PROJECT}/locations/europe-west4/builds/x"]).values()
    assert isinstance(told, RunnerError)
    assert "pip install 'bastion-scheduler[gcp]'" in str(told)


def _made(fake: Fake, number: int, status: str = "WORKING") -> str:
    """A build, as if it had been asked for before. Its name."""
    parent = f"projects/{PROJECT}/locations/europe-west4"
    row = {"id": f"b{number:04}", "status": status, "createTime": fake.clock.stamp(), "tags": ["bastion"]}
    if status == "SUCCESS":
        row["results"] = {"images": [{"name": f"gcr.io/p/a:{number}", "digest": f"sha256:{number:064x}"}]}
    with fake.clock.lock:
        fake.cloud.rows.put(f"{parent}/builds/{row['id']}", {"name": f"{parent}/builds/{row['id']}", **row})
    return f"{parent}/builds/{row['id']}"
