"""The name of every object in the bucket, below `<root>/<bastion>/`. Only this file builds keys. Pure.

A task is named `<job id>/<task number>`, an attempt `<job id>/<task number>/<attempt number>`.
"""

from __future__ import annotations

import re

from .interfaces import AttemptKey

QUOTA = "project-quotas/project-quotas.config"
CONFIG = "config.toml"
STATUS = "status.json"
CLOCK = "clock.json"
SEAL = "seal.key"

INBOX = "inbox/"
JOURNAL = "journal/"
SNAPSHOTS = "snapshots/"
ENDED = "ended/"
ATTEMPTS = "attempts/"
CLAIMS = "claims/"
BEATS = "beats/"
FACTS = "workers/"
LOGS = "logs/"
BUNDLES = "bundles/"
BUILDS = "builds/"
BASTION_LOG = "bastion-log/"
OUTPUTS = "outputs/"
WATCH = "watch/"

PRIVATE = "private"
PERMANENT = "permanent"
TTL = "ttl"
_HOMES = {LOGS: PERMANENT, BASTION_LOG: PERMANENT, OUTPUTS: PERMANENT, BUNDLES: TTL}

_PROBE = "!doctor-"
_NUMBER = "(0|[1-9][0-9]{0,8})"
_ORDER = re.compile(rf"attempts/([^/]+)/{_NUMBER}/{_NUMBER}/order\.json")
_OF_WORKER = re.compile(rf"[^/]+/([^/]+)/{_NUMBER}/{_NUMBER}/{_NUMBER}(?:\.json)?")


def probe(prefix: str, nonce: str) -> str:
    """Return the key that a doctor uses to test its access below a prefix.

    It comes before all other names there, and the doctor soon deletes it.
    """
    return f"{prefix}{_PROBE}{nonce}"


def is_probe(key: str) -> bool:
    """Return True for a key that a doctor left, or is about to delete."""
    return f"/{_PROBE}" in key


def home(key: str) -> str:
    """Return which of a bastion's three buckets holds a key, or a prefix with a slash. They may be the same bucket."""
    return _HOMES.get(key[: key.find("/") + 1], PRIVATE)


def job_id(name: str, request_id: str) -> str:
    """Return a job's id, which its keys are made of; it is never reused."""
    return f"{name}-{request_id[:8]}"


def request(user: str, request_id: str) -> str:
    """Return the key of a client's request. The user is in the path, so the bucket's IAM proves who wrote it."""
    return f"{INBOX}{user}/{request_id}.json"


def request_of(key: str) -> tuple[str, str] | None:
    """Return (user, request id) of an inbox key; None if the key has another form."""
    parts = key.removeprefix(INBOX).split("/")
    if not key.startswith(INBOX) or len(parts) != 2 or not parts[0] or not parts[1].endswith(".json"):
        return None
    return parts[0], parts[1].removesuffix(".json")


def journal(seq: int) -> str:
    """Return the key of a journal object."""
    return f"{JOURNAL}{seq:012d}.json"


def request_name(key: str) -> str:
    """Return the name of a request in the state.

    It is not the id alone: otherwise one user could use the id of another's request first.
    """
    named = request_of(key)
    return "/".join(named) if named else key


def is_journal(key: str) -> bool:
    """Return True for the key of a journal object. Others put files there, too."""
    digits = key.removeprefix(JOURNAL).removesuffix(".json")
    return digits.isdecimal() and digits.isascii() and key == journal(int(digits))


def seq_of(key: str) -> int:
    """Return the number in a journal or snapshot key."""
    return int(key.rsplit("/", 1)[1].split(".", 1)[0])


def snapshot(seq: int) -> str:
    """Return the key of the state after all journal objects below `seq`."""
    return f"{SNAPSHOTS}{seq:012d}.json.zst"


def is_snapshot(key: str) -> bool:
    """Return True for the key of a snapshot. Others put files there, too."""
    digits = key.removeprefix(SNAPSHOTS).removesuffix(".json.zst")
    return digits.isdecimal() and digits.isascii() and key == snapshot(int(digits))


def ended(job: str) -> str:
    """Return the key of a tombstone: what is kept of a job that left the state.

    It lies beside the tombstones of other jobs of its name, which is the id without its last part.
    """
    return f"{ended_of(job.rpartition('-')[0])}{job}.json"


def ended_of(name: str) -> str:
    """Return the prefix of the tombstones of jobs of this name."""
    return f"{ENDED}{name}/"


def bundle(digest: str, extension: str) -> str:
    """Return the key of a bundle, named by the SHA-256 of its bytes."""
    return f"{BUNDLES}{digest}.{extension}"


def build(digest: str) -> str:
    """Return the key of the worker program for machines that have none, named by the SHA-256 of its bytes."""
    return f"{BUILDS}{digest}.tar.gz"


def order(key: AttemptKey) -> str:
    """Return the key of an attempt's order: what its workers are to run."""
    return f"{ATTEMPTS}{key}/order.json"


def ordered(key: str) -> AttemptKey | None:
    """Return the attempt whose order this key names; None if it names none."""
    match = _ORDER.fullmatch(key)
    return AttemptKey(match[1], int(match[2]), int(match[3])) if match else None


def stop(key: AttemptKey) -> str:
    """Return the key of the order to stop an attempt."""
    return f"{ATTEMPTS}{key}/stop.json"


def peers(key: AttemptKey) -> str:
    """Return the key of the addresses and ranks of a gang."""
    return f"{ATTEMPTS}{key}/world.json"


def claim(key: AttemptKey, worker: int) -> str:
    """Return the key of a worker's claim: the worker creates it once, or the bastion does, to void the worker."""
    return f"{CLAIMS}{key}/{worker}"


def beat(key: AttemptKey, worker: int) -> str:
    """Return the key of a counter that a live worker rewrites."""
    return f"{BEATS}{key}/{worker}"


def facts(key: AttemptKey, worker: int) -> str:
    """Return the key of a worker's facts about its process."""
    return f"{FACTS}{key}/{worker}.json"


def worker_of(key: str) -> tuple[AttemptKey, int] | None:
    """Return the attempt and worker that a claim, beat or facts key names; None if it names none."""
    match = _OF_WORKER.fullmatch(key)
    return (AttemptKey(match[1], int(match[2]), int(match[3])), int(match[4])) if match else None


def log(key: AttemptKey, worker: int) -> str:
    """Return the prefix of a worker's log segments."""
    return f"{LOGS}{key}/{worker}/"


def bastion_log(epoch: int) -> str:
    """Return the prefix of the log segments of the bastion of this epoch."""
    return f"{BASTION_LOG}{epoch:06d}/"


def segment(log_prefix: str, number: int) -> str:
    """Return the key of a log segment. Segments are numbered from 0 without gaps; an empty one ends the log."""
    return f"{log_prefix}{number:08d}.log"


def watch(job: str, task: int) -> str:
    """Return the key which shows that somebody follows this task, so that its log is flushed fast."""
    return f"{WATCH}{job}/{task}"


def outputs(job: str, task: int) -> str:
    """Return the prefix of a task's default output folder."""
    return f"{OUTPUTS}{job}/{task}"


_JOB = "[^/]+"
_OURS = {
    INBOX: r"[^/]+/[^/]+\.json",
    JOURNAL: r"[0-9]{12,}\.json",
    SNAPSHOTS: r"[0-9]{12,}\.json\.zst",
    ENDED: r"[^/]+/[^/]+\.json",
    ATTEMPTS: rf"{_JOB}/{_NUMBER}/{_NUMBER}/(order|stop|world)\.json",
    CLAIMS: rf"{_JOB}/{_NUMBER}/{_NUMBER}/{_NUMBER}",
    BEATS: rf"{_JOB}/{_NUMBER}/{_NUMBER}/{_NUMBER}",
    FACTS: rf"{_JOB}/{_NUMBER}/{_NUMBER}/{_NUMBER}\.json",
    LOGS: rf"{_JOB}/{_NUMBER}/{_NUMBER}/{_NUMBER}/[0-9]{{8,}}\.log",
    BUNDLES: r"[0-9a-f]{64}\.[a-z0-9.]+",
    BUILDS: r"[0-9a-f]{64}\.tar\.gz",
    BASTION_LOG: r"[0-9]{6,}/[0-9]{8,}\.log",
    OUTPUTS: r".+",
    WATCH: rf"{_JOB}/{_NUMBER}",
}
"""The form of the keys below each prefix."""


def is_ours(key: str) -> bool:
    """Return True if a key has the form of one that we write.

    A new prefix needs its form here; otherwise the doctor reports its keys as unknown.
    """
    prefix = key[: key.find("/") + 1]
    if prefix not in _OURS:
        return key in (QUOTA, CONFIG, STATUS, CLOCK, SEAL)
    return is_probe(key) or re.fullmatch(_OURS[prefix], key.removeprefix(prefix)) is not None
