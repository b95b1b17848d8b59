"""Thousands of jobs, made quickly: specs, requests, and inboxes full of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.interfaces import Bucket
from bastion.model.job.spec import JobSpec, new_jobspec
from bastion.model.stored.requests import Submit

PROJECTS = 100
USERS = 1_000
SHAPES = 64
SPEC_BYTES = 1_024
CAPACITY = {"v4": 256, "v5": 256, "h100": 256, "cpu": 1_024}


def quota(capacity: Mapping[str, int] = CAPACITY) -> str:
    """A hundred projects with ten members and a hundredth of everything each."""
    lines = ["[toml-schema]", 'version = "1"', "[total_resources]"]
    lines += [f"{kind} = {amount}" for kind, amount in capacity.items()]
    lines.append("[project_membership]")
    for project in range(PROJECTS):
        members = ", ".join(f'"u{user}"' for user in range(project, USERS, PROJECTS))
        lines.append(f"p{project} = [{members}]")
    for project in range(PROJECTS):
        lines += [f"[project_resources.p{project}]", *(f"{kind} = 0.01" for kind in CAPACITY)]
    return "\n".join(lines) + "\n"


def specs(count: int, seed: int = 0) -> Iterator[JobSpec]:
    """Distinct specs of a kilobyte, of 100 projects, 1,000 users and 64 shapes."""
    rng = Random(seed)
    shapes = [shape(number) for number in range(SHAPES)]
    for number in range(count):
        user = rng.randrange(USERS)
        spec = new_jobspec(
            name=f"job-{number}",
            user=f"u{user}",
            project=f"p{user % PROJECTS}",
            command=["python", "-m", "train", f"--run={rng.getrandbits(64):x}", f"--seed={number}"],
            resources=shapes[rng.randrange(SHAPES)],
            priority=rng.randint(1, 5),
        )
        yield _padded(spec, rng)


def fill(bucket: Bucket, wishes: Iterable[JobSpec], seed: int = 1) -> None:
    """Put a request for each spec into the inbox."""
    for user, request, data in _requests(wishes, seed):
        bucket.create(layout.request(user, request), data)


def fill_folder(folder: Path, wishes: Iterable[JobSpec], seed: int = 1) -> None:
    """The same for the folder of a local bucket, without waiting for the disk at each of them."""
    for user, request, data in _requests(wishes, seed):
        new = folder / "new%private"  # no key has this name
        new.write_bytes(data)
        while not _moved(new, folder / layout.request(user, request)):
            pass


def _moved(new: Path, path: Path) -> bool:
    """False if a bastion at work removed the folder, because it had emptied it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.rename(path)
    except (FileNotFoundError, FileExistsError):
        return False
    return True


def _requests(wishes: Iterable[JobSpec], seed: int) -> Iterator[tuple[str, str, bytes]]:
    rng = Random(seed)
    for spec in wishes:
        yield spec.user, f"{rng.getrandbits(128):032x}", encode(Submit(spec=spec))


def shape(number: int) -> dict[str, int]:
    """What the jobs of this shape ask for."""
    kind = ("v4", "v5", "h100", "cpu")[number % 4]
    own = {kind: 2 ** (number // 8 % 8)}
    return own if kind == "cpu" else {**own, "cpu": 1 + number // 4}


def _padded(spec: JobSpec, rng: Random) -> JobSpec:
    room = SPEC_BYTES - len(encode(spec)) - len('"NOTE":""')
    note = f"{rng.getrandbits(4 * max(0, room)):x}" if room > 0 else ""
    return new_jobspec(**{field: getattr(spec, field) for field in spec.__struct_fields__} | {"env": {"NOTE": note}})
