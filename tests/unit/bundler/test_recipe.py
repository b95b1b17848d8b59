"""What a Dockerfile takes is known before anything is built, and what it does not take is an error with the nearest word."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.bundler.recipe import Recipe, check
from bastion.model.errors import BundleError

TEXT = """
# FROM nothing AS comment
ARG BASE="a b" OTHER=x
from --platform=linux/amd64 ${BASE} as Build
ARG LONG \\
    # a comment between
    LAST
RUN echo ARG NOT
FROM Build
"""


def wanted(**more: Any) -> Recipe:
    return Recipe(name="gcr.io/a", **more)


@pytest.mark.parametrize("name", ["BASE", "OTHER", "LONG", "LAST", "HTTP_PROXY", "no_proxy"])
def test_what_it_takes(name: str) -> None:
    check(wanted(args={name: "x"}), TEXT)


@pytest.mark.parametrize("name", ["NOT", "base", "b", "x", "ARG"])
def test_what_it_does_not_take(name: str) -> None:
    with pytest.raises(BundleError, match=f"has '{name}', and Dockerfile has no such ARG"):
        check(wanted(args={name: "x"}), TEXT)


@pytest.mark.parametrize("target", ["", "Build", "build", "0", "1"])
def test_its_stages(target: str) -> None:
    check(wanted(target=target), TEXT)


@pytest.mark.parametrize("target", ["comment", "buil", "2", "-1", "9" * 400])
def test_what_is_none_of_its_stages(target: str) -> None:
    with pytest.raises(BundleError, match="Dockerfile has no stage"):
        check(wanted(target=target), TEXT)


def test_the_nearest_word_is_named() -> None:
    with pytest.raises(BundleError, match=r"did you mean OTHER\?"):
        check(wanted(args={"OTER": "x"}), TEXT)
    with pytest.raises(BundleError, match=r"did you mean target\?"):
        check(wanted(args={"tarjet": "x"}), TEXT, ("target", "platform"))
    with pytest.raises(BundleError, match=r"did you mean build\?"):
        check(wanted(target="bild"), TEXT)
    with pytest.raises(BundleError, match="has no FROM"):
        check(wanted(), "RUN x\n")


def test_a_hostile_dockerfile_is_read_in_good_time() -> None:
    check(wanted(), "FROM " + "a " * 100_000 + "\nFROM x\n" + "ARG " + '"' * 100_001 + "\n" + "\\\n" * 100_000)
