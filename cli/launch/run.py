"""`launch run`: run the command here and now, with the worker that would run it on the fleet.

It needs no bastion and no bucket.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import msgspec

from bastion.launcher.submit import build
from bastion.launcher.submit.provenance import provenance
from bastion.launcher.submit.without_bastion import WithoutBastion
from bastion.model.errors import BastionError, UsageError
from bastion.model.interfaces import AttemptKey
from bastion.model.job.spec import BundleRef, JobSpec
from bastion.model.layout import job_id
from bastion.model.version import VERSION
from bastion.platform.shell import SystemShell
from bastion.platform.system import RandomIds, SystemClock
from bastion.quota.quota import OPEN_PROJECT, Quota
from bastion.stores.opening import open_bucket, open_part

from ..common.bundler_settings import check_setup, settings_of
from ..common.bundling import bundle, came_from, reference
from ..common.command_context import user_of
from ..options.launch import RunOptions
from ..terminal.main import Call
from .parts.local_workers import LocalWorkers

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(call: Call[RunOptions]) -> int:
    """Run a command to its end. The exit code is that of a job with the same end."""
    if sys.platform != "linux":
        raise BastionError(f"launch run needs Linux, as all workers do, but this machine has {sys.platform}")
    if not call.after:
        raise UsageError("there is no command; put it after --, as in launch run [flags] -- python train.py")
    settings = settings_of(call.options.bundler_type, call.options.bundler_spec)
    check_setup(settings.kind, call.options.setup)
    with (
        interrupts() as asked,
        tempfile.TemporaryDirectory(prefix="bastion-run-", ignore_cleanup_errors=True) as folder,
    ):
        open_bucket(f"file://{folder}/bucket", create=True)
        bucket = open_part(f"file://{folder}/bucket/here")
        request_id = RandomIds().new()
        spec = _spec(call, request_id, bucket.url, settings.get("source") or os.curdir)
        packed = bundle(bucket, SystemClock(), call.output, settings, kept_days=0)
        spec = msgspec.structs.replace(spec, bundle=reference(packed), provenance=came_from(packed, spec.provenance))
        key = AttemptKey(job_id(spec.name, request_id), 0, 0)
        alone = WithoutBastion(bucket, key, spec.replicas)
        alone.order(spec)
        with LocalWorkers(call, alone, Path(folder), spec.grace_s) as crew:
            asked.count_only()
            code = crew.work(asked)
        _note_outputs(call, Path(folder))
    if call.output.json:
        call.output.say(json.dumps({"schema": 1, "id": key.job, "name": spec.name, "exit_code": code}))
    return code


class StopRequests:
    """A counter of the user's requests to stop.

    Until `count_only` is called, a request raises `KeyboardInterrupt`, as everywhere.
    """

    def __init__(self) -> None:
        self.times = 0
        self._counts_only = False

    def count_only(self) -> None:
        """Stop raising: from now on, the caller reads `times`."""
        self._counts_only = True

    def ask(self, _number: int, _frame: FrameType | None) -> None:
        """Count a signal."""
        self.times += 1
        if not self._counts_only:
            raise KeyboardInterrupt


@contextmanager
def interrupts() -> Iterator[StopRequests]:
    """Count Ctrl-C, SIGTERM and a closed terminal while the context lasts."""
    asked = StopRequests()
    before = {number: signal.signal(number, asked.ask) for number in _SIGNALS}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _spec(call: Call[RunOptions], request_id: str, home: str, source: str) -> JobSpec:
    """Return the checked spec, as for a fleet that belongs to this job alone."""
    here = provenance(SystemShell(), source, host=os.uname().nodename, version=VERSION, now=SystemClock().wall())
    options = call.options
    fields = options.fields() | {
        "user": user_of(call),
        "project": OPEN_PROJECT,
        "command": build.command(call.after or (), literal=options.literal),
        "output_dir": _folder(options.output_dir),
    }
    return build.build(
        fields,
        gpus=None,
        quota=Quota.open(),
        capacity={},
        request_id=request_id,
        home=home,
        bundle=BundleRef(),
        provenance=here,
    )


def _folder(text: str) -> str:
    """Make a relative path absolute: here, unlike on a fleet, it has a meaning."""
    return os.path.abspath(text) if text and "://" not in text else text


def _note_outputs(call: Call[RunOptions], folder: Path) -> None:
    outputs = sum(1 for path in folder.glob("bucket/here/outputs/**/*") if path.is_file())
    if outputs:
        call.output.note(
            f"removed what was left in BASTION_OUTPUT_DIR (files: {outputs}); --output_dir=FOLDER keeps it"
        )
