"""Put the user's code into the bucket, with the bundler that the command line names."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from bastion.bundler.git import GitBundler
from bastion.bundler.interface import Bundle, Bundler, NoneBundler
from bastion.bundler.tar import TarBundler
from bastion.model import layout
from bastion.model.errors import UsageError
from bastion.model.interfaces import Bucket, Clock
from bastion.model.job.spec import BundleRef, Provenance
from bastion.platform.shell import SystemShell
from bastion.stores.routed import url_of

from ..terminal.flags import Options
from ..terminal.main import Call
from ..terminal.output import Output
from .bundler_settings import IMAGES, TRUTHS, BundlerSettings
from .image_bundling import image_bundler
from .place import known_place_of, setting_of

DAY_S = 86_400.0


def bundle(
    bucket: Bucket,
    clock: Clock,
    output: Output,
    settings: BundlerSettings,
    *,
    kept_days: int,
    later: bool | None = None,
) -> Bundle:
    """Pack the source folder and store it where workers find it. Bundles stay there `kept_days` days (0: for ever).

    `later`: whether an image may still be under construction afterwards, unless is_async says otherwise; None: it must
        be ready.
    Raises `BundleError`, `BucketError`, `GoogleError`, `UsageError`.
    """
    source = Path(settings.get("source") or os.getcwd())
    if settings.kind in IMAGES:
        packed = _image(bucket, clock, output, settings, kept_days, later).bundle(source, bucket)
    else:
        with output.progress(f"bundling {settings.get('repo') or source}"):
            packed = _bundler(bucket, clock, settings, kept_days).bundle(source, bucket)
    for note in _told(packed):
        output.note(note)
    return packed


def _image(
    bucket: Bucket, clock: Clock, output: Output, settings: BundlerSettings, kept_days: int, later: bool | None
) -> Bundler:
    waits = not settings.truth("is_async", default=bool(later))
    if later is None and not waits:
        raise UsageError("the image is needed at once here; leave --bundler_spec=is_async=true out")
    return image_bundler(
        settings,
        clock,
        output.note,
        tar=_tar(bucket, clock, kept_days, "tar.gz"),
        url_of=lambda key: f"{url_of(bucket, key or layout.BUNDLES)}/{key}",
        wait=waits,
    )


def reference(packed: Bundle) -> BundleRef:
    """Return the bundle as a spec names it."""
    return BundleRef(**{name: getattr(packed, name) for name in BundleRef.__struct_fields__})


def came_from(packed: Bundle, here: Provenance) -> Provenance:
    """Return the origin of the code: this folder, or the commit that was bundled, whatever the folder holds."""
    if not packed.commit:
        return here
    return msgspec.structs.replace(here, git_commit=packed.commit, git_dirty=bool(packed.digest))


def _bundler(bucket: Bucket, clock: Clock, settings: BundlerSettings, kept_days: int) -> Bundler:
    if settings.kind == "git":
        return GitBundler(
            shell=SystemShell(),
            clock=clock,
            repo=settings.get("repo"),
            ref=settings.get("ref"),
            allow_dirty=settings.truth("allow_dirty"),
            submodules=TRUTHS.get(settings.get("submodules")),
            retention_s=kept_days * DAY_S or None,
        )
    return _tar(bucket, clock, kept_days) if settings.kind == "tar" else NoneBundler()


def _tar(bucket: Bucket, clock: Clock, kept_days: int, form: str = "tar.zst") -> TarBundler:
    urls = {url_of(bucket, key) for key in ("", layout.LOGS, layout.BUNDLES)}
    folders = [Path(url.removeprefix("file://")).parent for url in sorted(urls) if url.startswith("file://")]
    kept_s = kept_days * DAY_S or None
    return TarBundler(home=Path.home(), clock=clock, leave_out=folders, retention_s=kept_s, form=form)


def _told(packed: Bundle) -> list[str]:
    if packed.type == "none":
        return []
    if packed.type == "image":
        return [
            *packed.notes,
            f"image {packed.image}" + (f"@sha256:{packed.digest}" if packed.digest else ", to be built"),
        ]
    size = f"files: {packed.files}, KiB: {packed.size / 1024:.1f}"
    if packed.type == "tar":
        return [f"bundle {packed.digest[:12]}: {size}"]
    diff = f", with changes {packed.digest[:12]}: {size}" if packed.key else ""
    return [*packed.notes, f"bundle {packed.commit[:12]} of {packed.repo}{diff}"]


def docker_repo_of(call: Call[Options], kind: str) -> str:
    """Return the registry for images that name none, from the environment, the profile or the bastion's settings.

    Empty for code that is not an image.
    """
    if kind not in IMAGES:
        return ""
    if said := setting_of(call, "docker_repo"):
        return said.value
    return known_place_of(call).settings.docker_repo
