"""The recipe of an image: a Dockerfile and its arguments, checked before anything is built. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from bastion.model.errors import BundleError
from bastion.model.nearest import did_you_mean

DOCKERFILE_BYTES = 2**20
"""The most bytes of a Dockerfile. A person does not write a larger one."""

PREDEFINED = frozenset(
    word
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY")
    for word in (name, name.lower())
)
"""The build arguments that every Dockerfile takes, without an ARG line for them."""

_FROM = re.compile(r"FROM\s+(?:--\S+\s+)*\S+(?:\s+AS\s+(?P<name>\S+))?", re.IGNORECASE)
_ARG = re.compile(r"ARG\s+(?P<words>.+)", re.IGNORECASE | re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The settings of one image build.

    name: the full name of the image in its registry, without a tag.
    dockerfile: the path of the Dockerfile below the source folder.
    target: the stage to build, by name or number; empty: the last one.
    platform: the platform to build for, as Docker names it; empty: the engine's own.
    args: the build arguments, by name.
    cache_from: the images from which the build may take layers.
    """

    name: str
    dockerfile: str = "Dockerfile"
    target: str = ""
    platform: str = ""
    args: Mapping[str, str] = field(default_factory=dict)
    cache_from: tuple[str, ...] = ()


def check(recipe: Recipe, text: str, settings: tuple[str, ...] = ()) -> None:
    """Raise `BundleError` if the Dockerfile has no FROM, or no such target or argument.

    `settings` are the other names that a user may give; they appear in the hint.
    """
    stages, arguments = _stages(text), _arguments(text) | PREDEFINED
    if not stages:
        raise BundleError(f"{recipe.dockerfile} has no FROM line; add one that names the base image")
    if recipe.target and recipe.target.lower() not in stages and not _is_number(recipe.target, len(stages)):
        named = [name for name in stages if name]
        hint = did_you_mean(recipe.target, named, f"its stages are {', '.join(named) or 'not named'}")
        raise BundleError(f"{recipe.dockerfile} has no stage {recipe.target[:100]!r}; {hint}")
    for name in recipe.args:
        if name not in arguments:
            known = [*settings, *sorted(arguments - PREDEFINED)]
            hint = did_you_mean(name, known, f"write ARG {name[:64]} into it, or use {', '.join(known)}")
            raise BundleError(f"--bundler_spec has {name[:64]!r}, and {recipe.dockerfile} has no such ARG; {hint}")


def _is_number(text: str, below: int) -> bool:
    return text.isascii() and text.isdigit() and int(text[:9]) < below


def _stages(text: str) -> list[str]:
    found = (_FROM.match(line) for line in _instructions(text))
    return [(match["name"] or "").lower() for match in found if match]


def _arguments(text: str) -> frozenset[str]:
    """Return the names after each ARG; for `ARG A="b c" D`, A and D."""
    words = (match["words"] for line in _instructions(text) if (match := _ARG.match(line)))
    bare = (re.sub(r"\"[^\"]*\"|'[^']*'", "", each) for each in words)
    return frozenset(match[0] for each in bare for word in each.split() if (match := _NAME.match(word)))


def _instructions(text: str) -> list[str]:
    """Return the instructions, one a line: continued lines are joined, and comments are left out."""
    lines = (line.strip() for line in text.splitlines())
    whole = "\n".join(line for line in lines if line and not line.startswith("#"))
    return re.sub(r"\\\n", " ", whole).splitlines()
