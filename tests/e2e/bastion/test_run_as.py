"""Jobs of a bastion that root started, as an account that is not root's: what they can do, and what they cannot."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fleet import Fleet
from tests.support.gitservers import Repository, git

ROOT = os.geteuid() == 0
OTHER = "nobody"
WHY_NOT = f"run_as is '{OTHER}', and only root can run jobs as others"


@pytest.fixture
def others() -> Iterator[Fleet]:
    """In a folder that every account gets to; where root runs the tests, with a bastion whose jobs are nobody's."""
    folder = Path(tempfile.mkdtemp(prefix="bastion-run-as-"))
    folder.chmod(0o755)
    here = Fleet(folder)
    here.environ |= {
        "HOME": str(folder),
        "BASTION_SECRETS": str(folder / "secrets"),
        "AWS_SECRET_ACCESS_KEY": "of-root",
    }
    (folder / "secrets").mkdir(mode=0o700)
    (folder / "secrets" / "TOKEN").write_text("s3cret-value")
    (folder / "secrets" / "TOKEN").chmod(0o600)
    said = here.run("bastion", "create", "--local", "--capacity=v4=8", "--poll=0.1", f"--run_as={OTHER}")
    if ROOT:
        assert said.returncode == 0, said
        yield here
    else:
        assert said.returncode == 1
        assert WHY_NOT in said.stderr
        yield here
    here.close()
    shutil.rmtree(folder)


def ended(fleet: Fleet, code: int, *flags: str, run: str) -> str:
    """The log of a job that has to end so."""
    job = fleet.submit("as-other", *flags, run=run)
    assert fleet.wait(job) == code, fleet.log(job)
    return fleet.log(job)


SEES = """
id -un; id -gn; echo "home $HOME user $USER"
touch "$TMPDIR/mine" "$HOME/mine" "$BASTION_OUTPUT_DIR/mine" "$BASTION_CHECKPOINT_DIR/mine" code && echo wrote
echo '{"step": 4}' >>"$BASTION_PROGRESS_FILE"
cat "$BASTION_WORLD_FILE" >/dev/null && echo world
cat "$SECRETS/TOKEN" 2>/dev/null || echo no secrets
cat "/proc/$PPID/environ" 2>/dev/null || echo no environment
kill -TERM "$PPID" 2>/dev/null || echo no signal
cat ../output.log 2>/dev/null || echo no spool
ls .. 2>/dev/null || echo no listing
rm -rf "$BUCKET/demo/journal" 2>/dev/null || echo no journal
[ "$TOKEN" = s3cret-value ] && echo knows its own
ulimit -c; ulimit -n; cat /proc/self/oom_score_adj
"""
SAYS = [
    "wrote",
    "world",
    "no secrets",
    "no environment",
    "no signal",
    "no spool",
    "no listing",
    "no journal",
    "knows its own",
]


def test_a_job_is_not_root_and_cannot_reach_what_is_roots(others: Fleet) -> None:
    if not ROOT:
        return  # the fixture has seen the refusal
    places = (f"--env=SECRETS={others.folder}/secrets", f"--env=BUCKET={others.bucket}", "--env=TOKEN=secret:TOKEN")
    lines = ended(others, 0, *places, run=SEES).splitlines()
    me = pwd.getpwnam(OTHER)
    assert lines[0] == OTHER
    assert lines[2].endswith(f" user {OTHER}")
    assert [line for line in lines if line in SAYS] == SAYS, lines
    soft_core, files, score = lines[-3:]
    assert (soft_core, score) == ("0", "500")
    assert int(files) >= 1024
    assert others.job("as-other")["attempts"][-1].get("step", 4) == 4
    (seen,) = (others.root / "outputs").glob("*/0/mine")
    assert seen.stat().st_uid == me.pw_uid
    assert seen.parent.parent.stat().st_uid == 0


def test_status_and_doctor_say_whose_account_it_is(others: Fleet) -> None:
    if not ROOT:
        return
    assert f"jobs as    {OTHER}, and the bastion as root" in others.run("bastion", "status").stdout
    assert f"jobs run as: {OTHER}, and the bastion as root" in others.run("bastion", "doctor").stdout


def test_code_and_setups_are_the_accounts_too(others: Fleet) -> None:
    if not ROOT:
        return
    source = others.folder / "source"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "train.py").write_text("print('trained')")
    setup = "--setup=echo made >deep/made && touch $VIRTUAL_ENV/made"
    flags = ("--bundler_type=tar", f"--bundler_spec=source={source}", setup)
    check = (
        "id -un; cat deep/made && touch deep/new .top && [ -e $VIRTUAL_ENV/made ] && [ -O deep/train.py ] && echo mine; "
        "exec 2>/dev/null; cp /bin/true $VIRTUAL_ENV/bin/python || touch $VIRTUAL_ENV/more || rm $VIRTUAL_ENV/made || "
        "chmod u+w $VIRTUAL_ENV/made || echo not to be replaced"
    )
    first, second = (ended(others, 0, *flags, run=check).splitlines() for _ in range(2))
    assert first[-4:] == second[-4:] == [OTHER, "made", "mine", "not to be replaced"]


def test_root_makes_no_folder_for_others_where_they_could_not(others: Fleet) -> None:
    if not ROOT:
        return
    closed = others.folder / "closed"
    closed.mkdir(mode=0o700)
    log = ended(others, 100, f"--output_dir={closed}/mine", run="true")
    assert "Permission denied" in log
    assert list(closed.iterdir()) == []


def test_root_reads_no_repository_for_others(others: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    if not ROOT:
        return
    monkeypatch.setenv("HOME", str(others.folder))
    git(others.folder, "config", "--global", "user.email", "ada@example.com")
    git(others.folder, "config", "--global", "user.name", "ada")
    code = Repository(others.folder)
    commit = code.pushed()
    spec = {"bundle": {"type": "git", "repo": f"file://{code.bare}", "commit": commit}, "command": ["true"]}
    file = others.folder / "spec.json"
    file.write_text(json.dumps({**spec, "name": "reads", "resources": {"v4": 1}}))
    said = others.run("launch", f"--spec={file}", "--wait")
    assert said.returncode == 100
    assert "transport 'file' not allowed" in said.stderr
