"""What a worker of this machine finds in its environment, and what of a shell travels with a job."""

from __future__ import annotations

import pytest

from bastion.launcher.submit.provenance import SESSION_BYTES, session
from bastion.model.interfaces import AttemptKey
from bastion.runners.local.render import LocalMachineName, environment

NAME = LocalMachineName("scope", AttemptKey("job-12345678", 0, 0), 0, 1, "nonce")


def test_no_job_finds_the_programs_that_the_bastion_is_installed_with() -> None:
    inherited = {"PATH": "/first:/bastion/bin:/last", "BASTION_JOB": "other", "KEY": "value"}
    found = environment(inherited, NAME, ["0"], "/bastion/bin")
    assert (found["PATH"], found["KEY"], "BASTION_JOB" in found) == ("/first:/last", "value", False)
    assert environment(inherited, NAME, [])["PATH"] == inherited["PATH"], "where it is installed with the system's"


def test_of_a_shell_only_what_finds_programs_travels() -> None:
    shell = {
        "PATH": "/a:/b",
        "VIRTUAL_ENV": "/venv",
        "CONDA_PREFIX": "",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "HOME": "/h",
    }
    assert session(shell) == {"PATH": "/a:/b", "VIRTUAL_ENV": "/venv"}


@pytest.mark.parametrize("path", ["a" * (SESSION_BYTES + 1), "a\nb", "a\udcffb"])
def test_what_is_too_long_or_no_text_is_left_out(path: str) -> None:
    assert session({"PATH": path, "CONDA_PREFIX": "/conda"}) == {"CONDA_PREFIX": "/conda"}
