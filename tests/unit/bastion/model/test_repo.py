"""URLs of repositories: what git may be given, and what must not be written where everybody reads it."""

from __future__ import annotations

import pytest

from bastion.model.job.repo_url import URL_MAX, fault
from bastion.model.job.spec import BundleRef

COMMIT = "0123456789" * 4


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/ada/code.git",
        "http://127.0.0.1:8080/code",
        "http://[::1]:8080/code",
        "ssh://git@host:2222/code.git",
        "git://host/code",
        "git@github.com:ada/code.git",
        "host:code.git",
        "file:///srv/git/my code".replace(" ", "-"),
    ],
)
def test_these_are_fine(url: str) -> None:
    assert fault(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://ada:s3cret@host/x",
        "https://s3cret@host/x",
        "https://@host/x",
        "https://a:s3cret/y@host/x",
        "https://a:s3@cret@host/x",
        "ssh://git:s3cret@host/x",
        "a:s3cret@host:x",
        "https://host/x?private_token=s3cret",
    ],
)
def test_what_may_be_a_secret_is_refused_and_not_repeated(url: str) -> None:
    complaint = fault(url)
    assert complaint is not None
    assert "s3" not in complaint


@pytest.mark.parametrize(
    "url",
    [
        "",
        "code",
        "/srv/git/code",
        "ext::sh -c evil",
        "ext::evil",
        "-oProxyCommand=evil:x",
        "ssh://-oProxyCommand=evil/x",
        "ssh://-evil@host/x",
        "https:///x",
        "https://host",
        "file://host/x",
        "ftp://host/x",
        "https://host/a b",
        "https://host/a\nb",
        "host:-x",
        "https://host/" + "x" * URL_MAX,
    ],
)
def test_what_is_no_url_is_refused(url: str) -> None:
    assert fault(url) is not None


def test_one_word_for_the_code() -> None:
    assert BundleRef().identity == ""
    assert BundleRef(type="tar", key="k", digest="d").identity == "d"
    assert BundleRef(type="git", repo="r", commit=COMMIT).identity == COMMIT
    assert BundleRef(type="git", repo="r", commit=COMMIT, key="k", digest="d").identity == f"{COMMIT}+d"
