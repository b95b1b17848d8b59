"""The user's code into the bucket, by the bundler that the command line names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from bastion import layout
from bastion.buckets.routed import url_of
from bastion.errors import UsageError
from bastion.nearest import did_you_mean
from bastion.ports import Bucket, Clock
from bastion.shell import SystemShell
from bastion.spec import BundleRef, Provenance
from bundler.bundle import Bundle, Bundler, NoneBundler
from bundler.git import GitBundler
from bundler.tar import TarBundler
from cli.output import Output

_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "tar": ("source",),
    "git": ("source", "repo", "ref", "allow_dirty", "submodules"),
    "none": ("source",),
}
DAY_S = 86_400.0
_TRUTHS = {"true": True, "false": False}


def bundle(
    bucket: Bucket, clock: Clock, output: Output, *, kind: str, settings: Mapping[str, str], kept_days: int
) -> Bundle:
    """Pack the source folder and put it where workers find it; bundles stay there `kept_days` (0: for ever).

    Raises `BundleError`, `BucketError`, `UsageError`.
    """
    source = Path(settings.get("source") or os.getcwd())
    with output.progress(f"bundling {settings.get('repo') or source}"):
        packed = _bundler(kind, bucket, clock, settings, kept_days).bundle(source, bucket)
    for note in _told(packed):
        output.note(note)
    return packed


def reference(packed: Bundle) -> BundleRef:
    """A bundle as a spec names it."""
    return BundleRef(**{name: getattr(packed, name) for name in BundleRef.__struct_fields__})


def came_from(packed: Bundle, here: Provenance) -> Provenance:
    """Where the code comes from: this folder, or the commit that was bundled, whatever the folder holds."""
    if not packed.commit:
        return here
    return msgspec.structs.replace(here, git_commit=packed.commit, git_dirty=bool(packed.digest))


def settings_of(kind: str, texts: Iterable[str]) -> dict[str, str]:
    """`KEY=VALUE` of each --bundler_spec, as this bundler knows them. Raises `UsageError`."""
    if kind not in _SETTINGS:
        raise UsageError(f"--bundler_type is {kind[:64]!r}; {did_you_mean(kind, _SETTINGS, 'use tar, git or none')}")
    known = _SETTINGS[kind]
    pairs = [text.partition("=") for text in texts]
    for key, equals, value in pairs:
        if key not in known or not equals:
            use = f"use {', '.join(f'{name}=VALUE' for name in known)}"
            raise UsageError(f"--bundler_spec is {key[:64]!r}; {did_you_mean(key, set(known) - {key}, use)}")
        if key in ("allow_dirty", "submodules") and value not in _TRUTHS:
            raise UsageError(f"--bundler_spec has {key}={value[:64]!r}; use true or false")
    settings = {key: value for key, _, value in pairs}
    if settings.get("allow_dirty") == "true" and settings.keys() & {"repo", "ref"}:
        raise UsageError("--bundler_spec=allow_dirty=true takes this folder's changes along; leave repo and ref out")
    return settings


def _bundler(kind: str, bucket: Bucket, clock: Clock, settings: Mapping[str, str], kept_days: int) -> Bundler:
    kept_s = kept_days * DAY_S or None
    if kind == "git":
        return GitBundler(
            shell=SystemShell(),
            clock=clock,
            repo=settings.get("repo", ""),
            ref=settings.get("ref", ""),
            allow_dirty=_TRUTHS[settings.get("allow_dirty", "false")],
            submodules=_TRUTHS.get(settings.get("submodules", "")),
            retention_s=kept_s,
        )
    if kind == "tar":
        urls = {url_of(bucket, key) for key in ("", layout.LOGS, layout.BUNDLES)}
        folders = [Path(url.removeprefix("file://")).parent for url in sorted(urls) if url.startswith("file://")]
        return TarBundler(home=Path.home(), clock=clock, leave_out=folders, retention_s=kept_s)
    return NoneBundler()


def _told(packed: Bundle) -> list[str]:
    if packed.type == "none":
        return []
    size = f"files: {packed.files}, KiB: {packed.size / 1024:.1f}"
    if packed.type == "tar":
        return [f"bundle {packed.digest[:12]}: {size}"]
    diff = f", with changes {packed.digest[:12]}: {size}" if packed.key else ""
    return [*packed.notes, f"bundle {packed.commit[:12]} of {packed.repo}{diff}"]
