"""Commits as bundles, on a real machine: what the command finds, and what is said where it finds nothing."""

from __future__ import annotations

import socket

import psutil
import pytest

from bastion.model.job.spec import BundleRef
from bastion.model.state.state import Cause
from bastion.testing.stage import HELLO, Stage
from tests.contract.local_fleet import LocalFleet
from tests.support.gitservers import Repository, git_daemon


@pytest.fixture
def fleet(code: Repository, fleet: LocalFleet) -> LocalFleet:
    """Begun where git is quiet."""
    return fleet


def test_the_command_runs_in_its_folder_of_the_commit(fleet: LocalFleet, code: Repository) -> None:
    commit = code.pushed("deep/train.sh", "echo in $(basename $PWD) of $BASTION_BUNDLE; git rev-parse HEAD\n")
    code.pushed("deep/train.sh", "echo later\n")
    stage = Stage(fleet)
    with git_daemon(code.bare.parent) as url:
        stage.start(
            ["sh", "train.sh"], bundle=BundleRef(type="git", repo=f"{url}/code.git", commit=commit, folder="deep")
        )
        assert stage.ended().cause is Cause.OK
    assert stage.log() == f"in deep of {commit}\n{commit}\n"


def test_a_folder_that_the_commit_does_not_have_is_a_failed_setup(fleet: LocalFleet, code: Repository) -> None:
    repo = f"file://{code.bare}"
    stage = Stage(fleet)
    stage.start(HELLO, bundle=BundleRef(type="git", repo=repo, commit=code.pushed(), folder="empty"))
    facts = stage.ended()
    assert facts.cause is Cause.SETUP
    assert f"of {repo} has no folder 'empty'" in facts.message


def test_a_commit_that_is_gone_is_a_failed_setup_that_names_it(fleet: LocalFleet, code: Repository) -> None:
    code.pushed()
    code.write("lost", "")
    lost, repo = code.commit(), f"file://{code.bare}"
    stage = Stage(fleet)
    stage.start(HELLO, bundle=BundleRef(type="git", repo=repo, commit=lost))
    facts = stage.ended()
    assert (facts.cause, facts.exit_code) == (Cause.SETUP, None)
    assert f"commit {lost[:12]} of {repo}" in facts.message
    assert facts.message in stage.log()


def test_a_fetch_that_hangs_is_stopped_and_leaves_no_git(fleet: LocalFleet, code: Repository) -> None:
    commit = code.pushed()
    stage = Stage(fleet)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"git://127.0.0.1:{silent.getsockname()[1]}/code.git"
        stage.start(HELLO, bundle=BundleRef(type="git", repo=url, commit=commit))
        fleet.until(lambda: bool(_running(url)), "git at work")
        stage.stop(Cause.CANCELLED, grace_s=30)
        facts = stage.ended()
    assert (facts.cause, facts.exit_code) == (Cause.CANCELLED, None)
    fleet.until(lambda: not _running(url), "the end of git")


def _running(url: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.name() == "git" and _asks(process, url):
                found.append(process)
        except psutil.Error:
            continue
    return found


def _asks(process: psutil.Process, url: str) -> bool:
    port = int(url.split(":")[2].split("/")[0])
    return any(connection.raddr and connection.raddr.port == port for connection in process.net_connections())
