"""Two people on one machine, with accounts of their own, and a bastion of root's: real numbers, real files."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bastion.model.codec import encode
from bastion.model.stored.requests import Cancel
from tests.house.source import ROOT as REPO
from tests.support.fleet import Fleet, Said, until
from tests.support.people import ROOT, Person, a_group, people

ONLY_ROOT = "only root can run jobs as others: sudo bastion create --local --shared"


@dataclass(frozen=True)
class Lab:
    """A machine that ada and bob share, both of the group."""

    fleet: Fleet
    group: str
    ada: Person
    bob: Person

    def said(self, person: Person, *words: str) -> Said:
        """What `launch` says to somebody, if it ends well."""
        said = person.tool("launch", *words)
        assert said.returncode == 0, said
        return said

    def submit(self, person: Person, name: str, *flags: str, run: str) -> str:
        """A job of somebody's: its id."""
        words = [f"--name={name}", "--bundler_type=none", "--json", *flags, "--", "/bin/sh", "-c", run]
        return str(json.loads(self.said(person, *words).stdout)["id"])

    def refusals(self, job: str) -> list[str]:
        """Why requests about a job were refused."""
        return [event["reason"] for event in self.fleet.events("RequestRejected") if event.get("job", "") in (job, "")]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab | None]:
    """None where the tests are not root's: then nobody can be somebody else."""
    if not ROOT:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="bastion-lab-"))
    folder.chmod(0o755)
    fleet = Fleet(folder)
    fleet.environ |= {"HOME": str(folder), "XDG_CONFIG_DIRS": str(folder / "xdg")}
    with a_group() as group, people("ada", "bob", group=group, environ={"XDG_CONFIG_DIRS": f"{folder}/xdg"}) as found:
        flags = ("--local", f"--shared={group}", "--capacity=v4=8,cpu=8", "--poll=0.1")
        said = fleet.run("bastion", "create", *flags, umask=0o077)
        assert said.returncode == 0, said
        assert "launch needs no flags" in said.stderr
        yield Lab(fleet, group, *found)
        fleet.close()
    shutil.rmtree(folder)


def test_only_root_shares_a_machine(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    if ROOT:
        said = fleet.run("bastion", "create", "--local", "--shared=nobody-of-this-name")
        assert "this machine has no group nobody-of-this-name" in said.stderr
        said = fleet.run("bastion", "create", "--local", "--shared", f"--bucket=memory://{tmp_path.name}")
        assert "--shared needs a folder as the bucket" in said.stderr
    else:
        said = fleet.run("bastion", "create", "--local", "--shared")
        assert ONLY_ROOT in said.stderr
    assert said.returncode == 2


LOOKS = """
id -un; id -Gn; echo "home $HOME user $USER"; umask
touch "$BASTION_OUTPUT_DIR/mine" "$HOME/mine" && echo wrote
cat "/proc/$PPID/environ" 2>/dev/null || echo no environment
kill -TERM "$PPID" 2>/dev/null || echo no signal
"""


def test_a_job_runs_as_who_submits_it(lab: Lab | None) -> None:
    if lab is None:
        return
    for person in (lab.ada, lab.bob):
        job = lab.submit(person, "looks", run=LOOKS)
        log = lab.said(person, "logs", job, "--follow").stdout.splitlines()
        assert log[:1] == [person.name]
        assert set(log[1].split()) == {person.name, lab.group}
        assert log[2:] == [f"home {person.home} user {person.name}", "0022", "wrote", "no environment", "no signal"]
        output = lab.fleet.root / "outputs" / job / "0" / "mine"
        assert output.stat().st_uid == (person.home / "mine").stat().st_uid == person.uid


def test_roots_own_job_is_roots(lab: Lab | None) -> None:
    if lab is None:
        return
    job = lab.fleet.submit("of-root", run="id -un")
    assert lab.fleet.wait(job) == 0
    assert lab.fleet.log(job).splitlines() == ["root"]


def test_everybody_reads_the_queue_and_nobody_stops_others(lab: Lab | None) -> None:
    if lab is None:
        return
    job = lab.submit(lab.ada, "hers", run="sleep 600")
    lab.fleet.await_state(job, "RUNNING")
    assert job in lab.said(lab.bob, "ls", "--all").stdout
    said = lab.bob.tool("launch", "stop", job)
    assert (said.returncode, f"job {job} belongs to {lab.ada.name}; " in said.stderr) == (1, True), said
    for name in ("root", lab.ada.name):
        said = lab.bob.tool("launch", "stop", job, f"--user_id={name}")
        assert f"you are {lab.bob.name} on this machine, and only root may act as {name}" in said.stderr
    lab.said(lab.ada, "stop", job, "--wait")
    assert lab.fleet.job(job)["state"] == "CANCELLED"


def test_what_a_hand_writes_in_anothers_name_is_refused(lab: Lab | None) -> None:
    if lab is None:
        return
    job = lab.submit(lab.ada, "tough", run="sleep 600")
    lab.fleet.await_state(job, "RUNNING")
    inbox, text = lab.fleet.root / "inbox", encode(Cancel(job=job)).decode()
    into = 'umask 022; mkdir -p "$1"; printf %s "$2" >"$HOME/half" && mv "$HOME/half" "$1/$3.json"'
    said = lab.bob.run("sh", "-c", into, "sh", f"{inbox}/{lab.ada.name}", text, "a" * 32)
    assert "Permission denied" in said.stderr
    for name in ("daemon", "newcomer"):  # whose folders are not there yet: the first one to come makes them
        said = lab.bob.run("sh", "-c", into, "sh", f"{inbox}/{name}", text, "b" * 32)
        assert said.returncode == 0, said
    until(lambda: len(lab.refusals(job)) >= 2)
    only = f"but {lab.bob.name} wrote it; only root may act for others"
    assert [reason for reason in lab.refusals(job) if only not in reason] == []
    assert {event["user"] for event in lab.fleet.events("RequestRejected")} == {lab.bob.name}
    assert lab.fleet.job(job)["state"] == "RUNNING"
    lab.fleet.run("launch", "stop", job, "--wait", "--user_id=root")
    assert [one["user"] for one in lab.fleet.events("CancelRequested") if one["job"] == job] == ["root"]


def test_root_asks_in_the_name_of_others(lab: Lab | None) -> None:
    if lab is None:
        return
    job = lab.fleet.submit("for-bob", f"--user_id={lab.bob.name}", run="id -un")
    assert lab.fleet.wait(job) == 0
    assert lab.fleet.log(job).splitlines() == [lab.bob.name]


def test_a_submitter_without_an_account_is_told(lab: Lab | None) -> None:
    if lab is None:
        return
    job = lab.fleet.submit("lost", "--user_id=nobody.of.this.name", run="true")
    until(lambda: lab.fleet.job(job)["state"] == "REJECTED")
    assert "this machine has no account nobody.of.this.name" in lab.fleet.job(job)["reason"]


@pytest.mark.parametrize("part", ["journal/x", "status.json", "config.toml", "attempts/x", "claims/x", "logs/x", "y"])
def test_nobody_writes_what_is_the_bastions(lab: Lab | None, part: str) -> None:
    if lab is None:
        return
    said = lab.bob.run("sh", "-c", 'echo x >>"$1"', "sh", str(lab.fleet.root / part))
    assert "Permission denied" in said.stderr or "cannot create" in said.stderr, said


def test_the_doctor_knows_the_modes(lab: Lab | None) -> None:
    if lab is None:
        return
    well = f"shared by the group {lab.group}: each account writes only its own requests"
    for person in (lab.ada, lab.bob):
        said = person.tool("bastion", "doctor")
        assert (said.returncode, well in said.stdout) == (0, True), said
    inbox = lab.fleet.root / "inbox"
    inbox.chmod(0o755)
    os.chown(inbox / lab.ada.name, lab.bob.uid, -1)
    said = lab.fleet.run("bastion", "doctor")
    assert f"{inbox} has mode 0755 instead of 1777" in said.stdout
    assert f"{inbox / lab.ada.name} belongs to account {lab.bob.uid} instead of {lab.ada.uid}" in said.stdout
    assert "repair it as root: bastion create --local --shared" in said.stdout
    assert lab.fleet.run("bastion", "create", "--local", f"--shared={lab.group}").returncode == 0
    assert lab.ada.tool("bastion", "doctor").returncode == 0


def test_who_is_not_of_the_group_reads_nothing(lab: Lab | None) -> None:
    if lab is None:
        return
    with people("eve", environ={}) as (eve,):
        said = eve.run("ls", str(lab.fleet.bucket))
        assert "Permission denied" in said.stderr


def test_logs_and_outputs_may_be_for_their_user_alone(lab: Lab | None) -> None:
    if lab is None:
        return
    words = 'echo secret >"$BASTION_OUTPUT_DIR/result"; echo said'
    seen = lab.submit(lab.ada, "open", run=words)
    assert lab.fleet.wait(seen) == 0
    assert lab.fleet.run("bastion", "config", "set", "private_logs=true", "--yes").returncode == 0
    assert lab.fleet.run("bastion", "stop").returncode == 0
    assert lab.fleet.run("bastion", "create", "--local").returncode == 0
    hidden = lab.submit(lab.ada, "hidden", run=words)
    assert lab.fleet.wait(hidden) == 0
    for job, allowed in ((seen, True), (hidden, False)):
        places = [*(lab.fleet.root / "logs" / job).rglob("*.log"), lab.fleet.root / "outputs" / job / "0" / "result"]
        assert len(places) > 1
        for place in places:
            assert lab.ada.run("cat", str(place)).returncode == 0
            assert (lab.bob.run("cat", str(place)).returncode == 0) is allowed, place
    assert lab.said(lab.ada, "logs", hidden, "--no_follow").stdout.splitlines()[:1] == ["said"]
    assert hidden in lab.said(lab.bob, "ls", "--all").stdout


def test_a_folder_that_is_not_shared_runs_nobody_elses_jobs(tmp_path: Path) -> None:
    """Where somebody opened the modes by hand: as whom others' jobs run has to be said in words."""
    if not ROOT:
        return
    folder = Path(tempfile.mkdtemp(prefix="bastion-bare-"))
    folder.chmod(0o755)
    fleet = Fleet(folder)
    fleet.environ |= {"XDG_CONFIG_DIRS": str(folder / "xdg")}
    where = {name: fleet.environ[name] for name in ("BASTION_NAME", "BASTION_BUCKET", "XDG_CONFIG_DIRS")}
    with people("bob", environ=where) as (bob,):
        assert fleet.run("bastion", "create", "--local", "--capacity=v4=8", "--poll=0.1").returncode == 0
        fleet.bucket.chmod(0o755)
        for place in (fleet.bucket / "%private", fleet.root / "inbox", fleet.root / "watch"):
            place.mkdir(exist_ok=True)
            place.chmod(0o777)
        (fleet.bucket / "%private" / "lock").chmod(0o666)
        words = ["--name=his", "--resources=v4=1", "--bundler_type=none", "--", "true"]
        said = bob.tool("launch", *words)
        assert said.returncode == 0, said
        fleet.await_state("his", "REJECTED")
        assert "the job would run as root, the account of the bastion" in fleet.job("his")["reason"]
        fleet.close()
    shutil.rmtree(folder)


def test_the_page_plays_with_two_people() -> None:
    """Each command of ours on docs/fleets/shared-server.md, by whom the heading says; the unit is another test's."""
    if not ROOT:
        return
    folder = Path(tempfile.mkdtemp(prefix="bastion-server-"))
    folder.chmod(0o755)
    fleet = Fleet(folder)
    fleet.environ |= {"HOME": str(folder), "XDG_CONFIG_DIRS": str(folder / "xdg")}
    said: dict[str, list[str]] = {}
    with a_group() as group, people("ada", "bob", group=group, environ={"XDG_CONFIG_DIRS": f"{folder}/xdg"}) as found:
        for who, argv in commands_of_the_page():
            if argv[1:3] == ["create", "--local"]:
                given = ["--capacity=gpu=4,cpu=8", "--poll=0.1"] if "--shared=lab" in argv else []
                argv = [f"--shared={group}" if word == "--shared=lab" else word for word in argv if word != "--systemd"]
                argv += given
            person = {"as ada": found[0], "bob": found[1]}.get(who)
            done = person.tool(*argv) if person else fleet.run(*argv)
            assert done.returncode == 0, done
            said.setdefault(who, []).append(done.stdout)
        assert said["as ada"][1].splitlines()[0] == found[0].name
        assert {"first", "second"} <= {row["name"] for row in fleet.jobs()}
        assert found[0].name in said["bob"][1]
        fleet.close()
    shutil.rmtree(folder)


def commands_of_the_page() -> Iterator[tuple[str, list[str]]]:
    """Who types, by the end of the heading, and what."""
    who, fenced = "", False
    for line in (REPO / "docs/fleets/shared-server.md").read_text().splitlines():
        if line.startswith("## "):
            who = line.rpartition(", ")[2]
        fenced = line == "```bash" or (fenced and line != "```")
        if fenced and line.startswith(("bastion ", "launch ")):
            yield who, shlex.split(line)
