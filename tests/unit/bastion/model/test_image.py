"""Names of images: whole, without what could move or tell a secret, and pinned by a digest or a build."""

from __future__ import annotations

import pytest

from bastion.model.job.image_ref import NAME_MAX, fault, faults, host_of, split
from bastion.model.job.spec import BundleRef

DIGEST = "0123456789abcdef" * 4
BUILD = "projects/my-project/locations/europe-west4/builds/7d1f4e2c-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    "name",
    [
        "docker.io/team/train",
        "europe-west4-docker.pkg.dev/my-project/images/train",
        "127.0.0.1:5000/train",
        "localhost/train",
        "registry.example.com:443/a/b__c/d-e.f_g",
    ],
)
def test_these_are_fine(name: str) -> None:
    assert fault(name) is None


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "names no registry"),
        ("train", "docker.io/train is Docker's own"),
        ("team/train", "docker.io/team/train is Docker's own"),
        ("gcr.io/team/train:v1", "with a tag; leave it out"),
        (f"gcr.io/team/train@sha256:{DIGEST}", "with a digest"),
        ("ada:secret@gcr.io/train", "leave them out"),
        ("gcr.io/Team/train", "lower-case"),
        ("gcr.io/team//train", "use host/path/name"),
        ("gcr.io/team/../train", "use host/path/name"),
        ("gcr.io/-train", "use host/path/name"),
        ("gcr.io/train --privileged", "use host/path/name"),
        ("gcr.io/train\n", "use host/path/name"),
        ("-v.io/train", "use host/path/name"),
        ("https://gcr.io/train", "use host/path/name"),
        ("gcr.io/" + "x" * NAME_MAX, "at most 255"),
    ],
)
def test_what_is_no_whole_name_is_refused(name: str, says: str) -> None:
    assert says in (fault(name) or "")


def test_a_name_is_taken_apart() -> None:
    assert host_of("127.0.0.1:5000/train") == "127.0.0.1:5000"
    assert host_of("team/train") == ""
    assert split("127.0.0.1:5000/train") == ("127.0.0.1:5000/train", "")
    assert split("127.0.0.1:5000/train:v1") == ("127.0.0.1:5000/train", "v1")


def test_an_image_of_a_spec_is_pinned_by_a_digest_or_by_a_build() -> None:
    assert list(faults("gcr.io/a", DIGEST, "")) == []
    assert list(faults("gcr.io/a", "", BUILD)) == []
    assert list(faults("gcr.io/a", DIGEST, BUILD)) == []
    (nothing,) = faults("gcr.io/a", "", "")
    assert "SHA-256" in nothing
    (short,) = faults("gcr.io/a", "abc", BUILD)
    assert "SHA-256" in short
    (odd,) = faults("gcr.io/a", DIGEST, "projects/p/builds/../x")
    assert "projects/PROJECT/locations/LOCATION/builds/ID" in odd


def test_an_engine_is_asked_for_the_digest() -> None:
    assert BundleRef(type="image", image="gcr.io/a", digest=DIGEST).pinned == f"gcr.io/a@sha256:{DIGEST}"
