"""Check the settings of each bundler, from --bundler_spec. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bastion.bundler.recipe import Recipe
from bastion.model.errors import UsageError
from bastion.model.job import image_ref
from bastion.model.nearest import did_you_mean

_IMAGE = ("source", "image", "repo", "dockerfile", "target", "platform", "cache_from", "allow_dirty", "skip_bundle")
_CLOUD = ("project", "location", "is_async", "private_worker_pool", "timeout_seconds")

KNOWN: Mapping[str, tuple[str, ...]] = {
    "tar": ("source",),
    "git": ("source", "repo", "ref", "allow_dirty", "submodules"),
    "docker": _IMAGE,
    "artifactregistry": _IMAGE,
    "cloudbuild": (*(name for name in _IMAGE if name != "skip_bundle"), *_CLOUD),
    "none": ("source",),
}
IMAGES = frozenset({"docker", "artifactregistry", "cloudbuild"})
"""The bundlers of images. For these, every unknown key is a build argument."""

TRUTHS = {"true": True, "false": False}
_TRUE_OR_FALSE = ("allow_dirty", "submodules", "skip_bundle", "is_async")
_SKIPPED = ("dockerfile", "target", "platform", "cache_from", "allow_dirty")
_ARGUMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_PLATFORM = re.compile(r"[a-z0-9]+/[a-z0-9_]+(/[a-z0-9]+)?")
_POOL = re.compile(r"projects/[a-z0-9.:-]+/locations/(?P<location>[a-z0-9-]+)/workerPools/[a-z0-9-]+")
_TIME_MAX = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class BundlerSettings:
    """The settings of one bundler.

    kind: the type of the bundler, a key of `KNOWN`.
    said: the values by the names of settings; a setting that was not set is missing.
    args: the build arguments of an image.
    """

    kind: str
    said: Mapping[str, str] = field(default_factory=dict)
    args: Mapping[str, str] = field(default_factory=dict)

    def get(self, name: str, default: str = "") -> str:
        """Return the value of a setting, or the default."""
        return self.said.get(name, default)

    def truth(self, name: str, *, default: bool = False) -> bool:
        """Return the value of a setting that is true or false, or the default."""
        return TRUTHS[self.said[name]] if name in self.said else default


def settings_of(kind: str, texts: Iterable[str], docker_repo: str = "") -> BundlerSettings:
    """Parse the `KEY=VALUE` of each --bundler_spec for this bundler. Raises `UsageError`.

    `docker_repo` is the registry for images that name none.
    """
    if kind not in KNOWN:
        use = f"use {', '.join(KNOWN)}"
        raise UsageError(f"--bundler_type is {kind[:64]!r}; {did_you_mean(kind, KNOWN, use)}")
    pairs = [text.partition("=") for text in texts]
    for key, equals, value in pairs:
        _check_key(kind, key, equals)
        if key in KNOWN[kind] and key in _TRUE_OR_FALSE and value not in TRUTHS:
            raise UsageError(f"--bundler_spec has {key}={value[:64]!r}; use true or false")
    said = {key: value for key, _, value in pairs if key in KNOWN[kind]}
    if docker_repo and kind in IMAGES and "repo" not in said and not image_ref.host_of(said.get("image", "")):
        said["repo"] = docker_repo
    settings = BundlerSettings(kind=kind, said=said, args={key: value for key, _, value in pairs if key not in said})
    if kind == "git" and settings.truth("allow_dirty") and said.keys() & {"repo", "ref"}:
        raise UsageError("--bundler_spec=allow_dirty=true takes this folder's changes along; leave repo and ref out")
    if kind in IMAGES:
        _check_image(settings)
    return settings


def check_setup(kind: str | None, setup: str) -> None:
    """Raise `UsageError` for a setup together with an image: the setup would run outside the image."""
    if kind in IMAGES and setup:
        raise UsageError("--setup and an image exclude each other; put the setup into the Dockerfile as a RUN line")


def _check_key(kind: str, key: str, equals: str) -> None:
    known = KNOWN[kind]
    if not equals or (key not in known and (kind not in IMAGES or not _ARGUMENT.fullmatch(key))):
        more = " and build arguments" if kind in IMAGES else ""
        use = f"use {', '.join(f'{name}=VALUE' for name in known)}{more}"
        raise UsageError(f"--bundler_spec is {key[:64]!r}; {did_you_mean(key, set(known) - {key}, use)}")


def _check_image(settings: BundlerSettings) -> None:
    name, _ = named(settings)
    if wrong := image_ref.fault(name):
        raise UsageError(f"--bundler_spec: image {wrong}; or set the registry once, as repo=HOST/PATH")
    if settings.truth("skip_bundle") and (settings.args or settings.said.keys() & set(_SKIPPED)):
        odd = next(iter([*settings.args, *(key for key in _SKIPPED if key in settings.said)]))
        raise UsageError(f"--bundler_spec=skip_bundle=true builds nothing; leave {odd} out")
    platform, pool = settings.get("platform"), settings.get("private_worker_pool")
    if platform and not _PLATFORM.fullmatch(platform):
        raise UsageError(f"--bundler_spec has platform={platform[:64]!r}; use OS/ARCH, as in linux/amd64")
    if pool and not _POOL.fullmatch(pool):
        raise UsageError(
            f"--bundler_spec has private_worker_pool={pool[:100]!r}; use projects/P/locations/L/workerPools/NAME"
        )
    time = settings.get("timeout_seconds", "1")
    if not (time.isascii() and time.isdigit() and 1 <= int(time[:9]) <= _TIME_MAX):
        raise UsageError(f"--bundler_spec has timeout_seconds={time[:64]!r}; use 1 to {_TIME_MAX}")


def named(settings: BundlerSettings) -> tuple[str, str]:
    """Return the whole name of the image, and its tag. The tag matters only where nothing is built."""
    said = settings.get("image")
    if settings.truth("skip_bundle"):
        said, tag = image_ref.split(said)
    else:
        tag = ""
    return "/".join(filter(None, (settings.get("repo").rstrip("/"), said))), tag or "latest"


def recipe_of(settings: BundlerSettings) -> Recipe:
    """Return what to build."""
    return Recipe(
        name=named(settings)[0],
        dockerfile=settings.get("dockerfile", "Dockerfile"),
        target=settings.get("target"),
        platform=settings.get("platform"),
        args=settings.args,
        cache_from=tuple(filter(None, settings.get("cache_from").split(","))),
    )


def location_of(settings: BundlerSettings, region: str) -> str:
    """Return the location of Cloud Build: the one that is set, else the pool's, else the image's region."""
    pool = _POOL.fullmatch(settings.get("private_worker_pool"))
    return settings.get("location") or (pool["location"] if pool else region)
