"""`bastion gc`: remove old objects, or make a cloud store do so with its own rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bastion.journal import recover
from bastion.launcher.read.reader import BastionReader
from bastion.model import layout
from bastion.model.errors import BastionError, BucketError, UsageError
from bastion.model.interfaces import Bucket, Clock, Stat, Tasks
from bastion.model.job.spec import JobSpec
from bastion.model.state.state import Job
from bastion.model.stored.requests import REQUEST_BYTES_MAX, Submit, Update, parse
from bastion.platform.system import SystemClock, ThreadTasks
from bastion.stores.expiry import RetentionDays, old_bundles, old_logs, old_outputs, term
from bastion.stores.routed import url_of

from ..common.command_context import user_of
from ..common.place import check_admin, known_place_of
from ..options.bastion import GcOptions
from ..terminal.main import DONE, Call
from .parts.gc_rules import show_or_apply

BATCH = 1000


def run(call: Call[GcOptions]) -> int:
    """Return 0 when the old objects are gone, or when the rules are printed or in force."""
    printing, applying = call.options.print_rules, call.options.apply_rules
    if printing and applying:
        raise UsageError("--print_rules and --apply_rules exclude each other; leave one out")
    place = known_place_of(call)
    days = {name: call.options.values[name] for name in ("bundles_days", "logs_days", "outputs_days")}
    said = term(place.config(), **days)
    if printing or applying:
        return show_or_apply(call, place, said, applying=applying)
    if not call.options.dry_run:
        check_admin(place, user_of(call))
    with call.output.progress("looking for old objects"):
        doomed = expired(place.bucket, said, SystemClock(), ThreadTasks())
    if not call.options.dry_run:
        for start in range(0, len(doomed), BATCH):
            place.bucket.delete([stat.key for stat in doomed[start : start + BATCH]])
    _tell(call, doomed, said)
    return DONE


def expired(bucket: Bucket, said: RetentionDays, clock: Clock, tasks: Tasks) -> list[Stat]:
    """List the objects that are older than their term and that nothing needs.

    Bundles are listed before the jobs are read, and again afterwards: a bundle that was uploaded again meanwhile is
    young.
    """
    now = clock.wall()
    old = {stat.key: stat.version for stat in _old_bundles(bucket, said, clock)}
    view = BastionReader(bucket, clock, tasks).look()
    logs = _listed(bucket, (layout.LOGS, layout.BASTION_LOG) if said.logs_days else ())
    doomed = list(old_logs(logs, said.logs_days, now, view.state))
    if not old and not said.outputs_days:
        return doomed
    outputs = list(_listed(bucket, (layout.OUTPUTS,) if said.outputs_days else ()))
    needed = _needed(bucket, [job for job in view.state.jobs.values() if job.ended is None], tasks)
    doomed += old_outputs(outputs, said.outputs_days, now, view.state, needed.folders)
    still = (stat for stat in _old_bundles(bucket, said, clock) if old.get(stat.key) == stat.version)
    return [*(stat for stat in still if stat.key not in needed.bundles), *doomed]


def _old_bundles(bucket: Bucket, said: RetentionDays, clock: Clock) -> list[Stat]:
    listed = _listed(bucket, (layout.BUNDLES,) if said.bundles_days else ())
    return old_bundles(listed, said.bundles_days, clock.wall())


def _listed(bucket: Bucket, prefixes: Iterable[str]) -> Iterable[Stat]:
    return (stat for prefix in prefixes for stat in bucket.list(prefix))


@dataclass(frozen=True, slots=True)
class _Needed:
    """The objects of a bucket that jobs still need, because these jobs have not ended.

    bundles: keys of bundles.
    folders: folders below `outputs/`, as prefixes of keys.
    """

    bundles: set[str]
    folders: set[str]


def _needed(bucket: Bucket, jobs: Sequence[Job], tasks: Tasks) -> _Needed:
    """Return what is needed by jobs that have not ended, by their updates, and by requests in the inbox."""
    home = f"{url_of(bucket, layout.OUTPUTS)}/"

    def of_spec(spec: JobSpec) -> list[str]:
        folders = (url.removeprefix(home) for url in (spec.output_dir, spec.checkpoint_dir) if url.startswith(home))
        return [spec.bundle.key, *(f"{folder.rstrip('/')}/" for folder in folders)]

    def of_job(job: Job) -> list[str]:
        change = recover.command_of(bucket, job.renewed)
        return [*of_spec(recover.spec_of(bucket, job)), *([change.bundle.key] if change and change.bundle else [])]

    def of_request(stat: Stat) -> list[str]:
        try:
            request = parse(bucket.read(stat.key, REQUEST_BYTES_MAX).data)
        except BucketError:
            raise
        except BastionError:  # it was read meanwhile, or is not a request: it needs nothing
            return []
        if isinstance(request, Submit):
            return of_spec(request.spec)
        return [request.changes.bundle.key] if isinstance(request, Update) and request.changes.bundle else []

    found = [*tasks.map(of_job, jobs), *tasks.map(of_request, list(bucket.list(layout.INBOX)))]
    failures = [each for each in found if isinstance(each, Exception)]
    if failures:
        raise BastionError(f"nothing was removed, because it is not known which objects jobs need: {failures[0]}")
    keys = {key for each in found for key in each}
    folders = {key for key in keys if key.startswith(layout.OUTPUTS)}
    return _Needed(bundles=keys - folders, folders=folders)


def _tell(call: Call[GcOptions], doomed: Sequence[Stat], said: RetentionDays) -> None:
    counts = {name: [s for s in doomed if s.key.startswith(prefix)] for name, prefix in _NAMES.items()}
    freed, dry = sum(stat.size for stat in doomed), call.options.dry_run
    if call.output.json:
        rows = {name: {"objects": len(of), "bytes": sum(s.size for s in of)} for name, of in counts.items()}
        call.output.data({"schema": 1, "dry_run": dry, "freed_bytes": freed, **rows})
        return
    days = {
        "bundles": said.bundles_days,
        "logs": said.logs_days,
        "bastion_log": said.logs_days,
        "outputs": said.outputs_days,
    }
    for name, of in counts.items():
        kept = f"older than {days[name]} days" if days[name] else "kept for ever"
        call.output.say(f"{name}: {len(of)} objects, {sum(s.size for s in of) / 2**20:.1f} MiB ({kept})")
    call.output.say(f"{'would free' if dry else 'freed'} {freed / 2**20:.1f} MiB")


_NAMES = {"bundles": layout.BUNDLES, "logs": layout.LOGS, "bastion_log": layout.BASTION_LOG, "outputs": layout.OUTPUTS}
