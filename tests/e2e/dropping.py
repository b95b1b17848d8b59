"""A program: a bastion on a mount that drops while a job runs, and comes back. In a mount namespace of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bastion.journal import recover
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from tests.support.fleet import Fleet, until

JOB = """
echo before; until [ -e {0}/dropped ]; do sleep 0.02; done
for i in $(seq 300); do echo line $i; done; touch {0}/printed
until [ -e {0}/back ]; do sleep 0.02; done; echo after
"""


def main(folder: Path) -> None:
    """Raises `AssertionError`."""
    true, place = folder / "true", folder / "bucket"
    true.mkdir()
    place.mkdir()
    _mount("-t", "tmpfs", "tmpfs", true)
    _mount("--bind", true, place)
    fleet = Fleet(folder, place)
    try:
        _play(fleet, true, place)
    finally:
        fleet.close()


def _play(fleet: Fleet, true: Path, place: Path) -> None:
    fleet.create()
    job = fleet.submit("steady", run=JOB.format(fleet.folder))
    until(lambda: "before\n" in fleet.log(job))
    subprocess.run(["umount", "--lazy", str(place)], check=True)
    assert list(place.iterdir()) == [], "the mount point is empty"
    (fleet.folder / "dropped").touch()
    until((fleet.folder / "printed").exists)
    (output,) = (fleet.folder / "state").rglob("demo-*.log")
    until(lambda: "another folder is in the place" in output.read_text())
    said = fleet.run("launch", "ls")
    assert said.returncode == 1, said
    assert list(place.iterdir()) == [], "nobody writes into what is not the store"
    _mount("--bind", true, place)
    (fleet.folder / "back").touch()
    assert fleet.wait("steady") == 0
    assert fleet.log("steady") == "".join(["before\n", *(f"line {n}\n" for n in range(1, 301)), "after\n"])
    assert fleet.wait(fleet.submit("next", run="true")) == 0
    bucket = PrefixedBucket(LocalBucket(f"file://{place}"), "demo")
    numbers = [record.seq for record in recover.objects(bucket, 0)]
    assert numbers == list(range(len(numbers))), "no number was written over a missing one"
    assert fleet.ask("bastion", "status")["epoch"] == 1
    assert len(fleet.job("steady")["attempts"]) == 1


def _mount(*words: object) -> None:
    subprocess.run(["mount", *map(str, words)], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
