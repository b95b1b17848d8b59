"""The user's code into the bucket, by the bundler that the command line names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from bastion import layout
from bastion.buckets.routed import url_of
from bastion.errors import UsageError
from bastion.nearest import did_you_mean
from bastion.ports import Bucket, Clock
from bastion.spec import BundleRef
from bundler.bundle import Bundle, Bundler, NoneBundler
from bundler.tar import TarBundler
from cli.output import Output

_SETTINGS = ("source",)


def bundle(
    bucket: Bucket, clock: Clock, output: Output, *, kind: str, settings: Mapping[str, str], kept_days: int
) -> BundleRef:
    """Pack the source folder and put it where workers find it; bundles stay there `kept_days` (0: for ever).

    Raises `BundleError`, `BucketError`, `UsageError`.
    """
    bundler = _bundler(kind, bucket, clock, kept_days)
    source = Path(settings.get("source") or os.getcwd())
    with output.progress(f"bundling {source}"):
        packed = bundler.bundle(source, bucket)
    if packed.key:
        output.note(_told(packed))
    return BundleRef(type=packed.type, key=packed.key, digest=packed.digest)


def settings_of(texts: Iterable[str]) -> dict[str, str]:
    """`KEY=VALUE` of each --bundler_spec. Raises `UsageError`."""
    pairs = [text.partition("=") for text in texts]
    for key, equals, _ in pairs:
        if key not in _SETTINGS or not equals:
            raise UsageError(f"--bundler_spec is {key[:64]!r}; {did_you_mean(key, _SETTINGS, 'use source=FOLDER')}")
    return {key: value for key, _, value in pairs}


def check_kind(kind: str) -> None:
    """Raises `UsageError` for a bundler that there is not."""
    if kind not in _BUNDLERS:
        raise UsageError(f"--bundler_type is {kind[:64]!r}; {did_you_mean(kind, _BUNDLERS, 'use tar or none')}")


def _bundler(kind: str, bucket: Bucket, clock: Clock, kept_days: int) -> Bundler:
    check_kind(kind)
    return _BUNDLERS[kind](bucket, clock, kept_days)


def _tar(bucket: Bucket, clock: Clock, kept_days: int) -> Bundler:
    urls = {url_of(bucket, key) for key in ("", layout.LOGS, layout.BUNDLES)}
    folders = [Path(url.removeprefix("file://")).parent for url in sorted(urls) if url.startswith("file://")]
    kept_s = kept_days * 86_400.0 or None
    return TarBundler(home=Path.home(), clock=clock, leave_out=folders, retention_s=kept_s)


_BUNDLERS: Mapping[str, Callable[[Bucket, Clock, int], Bundler]] = {"tar": _tar, "none": lambda *_: NoneBundler()}


def _told(packed: Bundle) -> str:
    return f"bundle {packed.digest[:12]}: files: {packed.files}, KiB: {packed.size / 1024:.1f}"
