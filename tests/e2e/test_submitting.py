"""What scripts rely on when they submit: the last line, JSON, refusals that write nothing, what a process then sees."""

from __future__ import annotations

import getpass
import json
from pathlib import Path

import pytest

from tests.support.fleet import Fleet, until

ME = getpass.getuser()


def waiting(fleet: Fleet) -> int:
    """How many requests are in the inbox."""
    return len(list(fleet.root.glob("inbox/*/*")))


def submitted(fleet: Fleet) -> int:
    """How many jobs there are, once all that was asked for before is taken in."""
    until(lambda: waiting(fleet) == 0)
    return len(fleet.events("Submitted"))


def test_the_last_line_is_the_name_also_after_waiting(shared: Fleet) -> None:
    for more in ([], ["--wait"], ["--follow"]):
        said = shared.run("launch", "--name=last-line", "--bundler_type=none", *more, "--", "echo", "hello")
        assert (said.returncode, said.stdout.splitlines()[-1]) == (0, "last-line")
    assert "hello" in said.stdout.splitlines()


def test_with_json_it_is_id_and_name(shared: Fleet) -> None:
    said = shared.run("launch", "--name=as-json", "--bundler_type=none", "--wait", "--json", "--", "true")
    value = json.loads(said.stdout)
    assert set(value) == {"id", "name"}
    assert value["name"] == "as-json"
    assert shared.job(value["id"])["state"] == "SUCCEEDED"


def test_the_defaults_are_those_of_the_contract(shared: Fleet) -> None:
    said = shared.run("launch", "--bundler_type=none", "--", "true")
    job = shared.job(said.stdout.strip())
    assert (job["user"], job["project"], job["priority"]) == (ME, "mine", 5)
    assert (job["num_replicas"], job["count"]) == (1, 1)
    spec = job["spec"]
    assert (spec["max_tries"], spec["retry_interval_s"], spec["grace_s"], spec["time_limit_s"]) == (1, 60, 30, None)
    assert spec["provenance"]["host"]
    assert spec["provenance"]["client_version"]


def test_a_user_of_two_projects_is_told_their_names(shared: Fleet) -> None:
    said = shared.run("launch", "--user_id=carol", "--bundler_type=none", "--", "true")
    assert said.returncode == 1
    assert "nlp" in said.stderr
    assert "vision" in said.stderr
    assert shared.wait(shared.submit("chosen", "--user_id=carol", "--project_id=vision", run="true")) == 0


@pytest.mark.parametrize(
    ("flags", "code", "complaint"),
    [
        (["--user_id=mallory"], 1, "mallory is a member of no project"),
        (["--user_id=mallory", "--project_id=nlp"], 1, "mallory is not a member of nlp"),
        (["--user_id=alice", "--project_id=NLP"], 1, "did you mean nlp?"),
        (["--user_id=alice", "--project_id=visoin"], 1, "did you mean vision?"),
        (["--instance_type=tpu-v99-8"], 1, "instance_type is 'tpu-v99-8'"),
        (["--resources=v5p=1"], 1, "this fleet has no v5p; it has "),
        (["--resources=v4=9"], 1, "more than the fleet has, v4=8"),
        (["--instance_type=tpu-v4-8", "--num_replicas=2"], 1, "v4=16 is more than the fleet has, v4=8"),
        (["--resources=v4=-1"], 1, "use a whole number from 1"),
        (["--resources=v4=1.5"], 1, "use KIND=N with a whole number"),
        (["--resources=v4=1000000000000"], 1, "v4 is 1000000000000"),
        (["--name=a/b"], 1, "name is 'a/b'"),
        (["--name=../b"], 1, "name is '../b'"),
        (["--name=a\nb"], 1, "name is 'a\\nb'"),
        (["--name=" + "a" * 200], 1, "use 1 to 63 letters"),
        (["--priority=0"], 1, "priority is 0"),
        (["--priority=high"], 2, "--priority is 'high'; use a whole number"),
        (["--grace=soon"], 2, "--grace is 'soon'"),
        (["--no_such_flag"], 2, "no_such_flag is not a flag of launch"),
    ],
)
def test_what_is_refused_writes_nothing(shared: Fleet, flags: list[str], code: int, complaint: str) -> None:
    before = submitted(shared)
    said = shared.run("launch", "--bundler_type=none", *flags, "--", "true")
    assert (said.returncode, said.stdout, said.stderr.count("\n")) == (code, "", 1)
    assert complaint in said.stderr
    as_json = shared.run("launch", "--bundler_type=none", "--json", *flags, "--", "true")
    assert as_json.returncode == code
    assert complaint in json.loads(as_json.stderr)["error"]
    assert (waiting(shared), submitted(shared)) == (0, before)


def test_a_dry_run_prints_the_spec_and_writes_nothing(shared: Fleet) -> None:
    before = submitted(shared)
    said = shared.run("launch", "--name=dry", "--dry-run", "--bundler_type=none", "--", "echo", "a b", "$HOME")
    assert said.returncode == 0
    assert json.loads(said.stdout)["command"] == ["echo", "a b", "$HOME"]
    assert (waiting(shared), submitted(shared)) == (0, before)


def test_dashes_do_as_well_as_underscores(shared: Fleet) -> None:
    said = shared.run("launch", "--name=dashes", "--bundler-type=none", "--max-tries=3", "--retry-interval=1s",
                      "--user-id=alice", "--project-id=nlp", "--", "true")  # fmt: skip
    assert said.returncode == 0
    spec = shared.job("dashes")["spec"]
    assert (spec["max_tries"], spec["retry_interval_s"], spec["user"]) == (3, 1, "alice")


def test_an_instance_type_is_its_units(shared: Fleet) -> None:
    job = shared.submit("slice", "--user_id=alice", "--instance_type=tpu-v4-8", run="true")
    assert shared.wait(job) == 0
    assert shared.job(job)["resources"] == {"v4": 8}


def test_a_process_sees_who_it_is_what_it_was_given_and_its_code(shared: Fleet, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = tmp_path / "code"
    code.mkdir()
    (code / "main.py").write_text("import os, json, sys; print(json.dumps([dict(os.environ), sys.argv[1:]]))")
    said = shared.run("launch", "--name=see", "--env=MINE=a b=c", "--env=OTHER=", f"--output_dir=file://{out}",
                      "--wait", "--json", "--", "python3", "main.py", "two words", "$HOME", "'", cwd=code)  # fmt: skip
    assert said.returncode == 0, said.stderr
    job = json.loads(said.stdout)["id"]
    environ, argv = json.loads(shared.log("see"))
    assert argv == ["two words", "$HOME", "'"]
    assert (environ["MINE"], environ["OTHER"]) == ("a b=c", "")
    assert (environ["BASTION_JOB"], environ["BASTION_JOB_NAME"]) == (job, "see")
    assert (environ["BASTION_TASK"], environ["BASTION_ATTEMPT"], environ["BASTION_RESTART_REASON"]) == (
        "0",
        "0",
        "first",
    )
    assert environ["BASTION_OUTPUT_DIR"] == str(out)
    assert environ["BASTION_CHECKPOINT_DIR"].startswith(str(out))
    assert Path(environ["BASTION_CHECKPOINT_DIR"]).is_dir()
    assert environ["BASTION_PROGRESS_FILE"]
    assert {"PATH", "HOME", "USER", "LANG", "TMPDIR"} <= environ.keys()
    assert "BASTION_BUCKET" not in environ


def test_a_users_own_folders_named_like_ours_are_theirs_here_and_in_the_job(shared: Fleet, tmp_path: Path) -> None:
    code = tmp_path / "code"
    for name in ("cli", "runners", "quota", "bastion", "launcher", "bundler"):
        (code / name).mkdir(parents=True)
        (code / name / "__init__.py").write_text(f"whose = 'their {name}'\n")
    (code / "main.py").write_text("import cli, runners, quota, bastion\nprint(cli.whose, quota.whose, bastion.whose)\n")
    environ = {**shared.environ, "PYTHONPATH": str(code)}

    def here(tool: str, *words: str) -> str:
        said = shared.run(tool, *words, cwd=code, env=environ)
        assert said.returncode == 0, said.stderr
        return said.stdout

    here("bastion", "create")
    here("bastion", "status")
    here("launch", "--name=theirs", "--wait", "--", "python3", "main.py")
    assert here("launch", "logs", "theirs").splitlines()[0] == "their cli their quota their bastion"
    here("launch", "ls")
    here("bastion", "quota", "show")


def test_nothing_is_coloured_and_help_is_always_there(shared: Fleet) -> None:
    for words in (["launch", "ls"], ["bastion", "status"], ["launch", "--help"], ["launch", "logs", "--help"]):
        said = shared.run(words[0], *words[1:], env={**shared.environ, "NO_COLOR": "1"})
        assert said.returncode == 0
        assert "\x1b" not in said.stdout + said.stderr


def test_a_request_that_is_copied_into_the_bucket_is_a_job(shared: Fleet) -> None:
    """Without our tools: what `--dry_run --request` prints, as a file."""
    flags = ("--name=by-hand", "--bundler_type=none", "--dry_run", "--request")
    said = shared.run("launch", *flags, "--", "echo", "by hand")
    assert said.returncode == 0, said
    key = said.stderr.partition("store it as ")[2].partition(";")[0]
    job = said.stderr.partition("the job is then ")[2].strip()
    file = shared.root / key
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(said.stdout)
    until(lambda: job in {row["id"] for row in shared.jobs()})
    assert shared.wait(job) == 0
    assert shared.log(job) == "by hand\n"


def test_a_request_whose_code_would_have_to_travel_is_not_printed(shared: Fleet) -> None:
    said = shared.run("launch", "--dry_run", "--request", "--", "true")
    assert (said.returncode, "--bundler_type=none" in said.stderr) == (2, True), said
    said = shared.run("launch", "--request", "--bundler_type=none", "--", "true")
    assert (said.returncode, "goes with --dry_run" in said.stderr) == (2, True), said
