"""What others write is held against what is known: a claim and facts that name another's machine end nothing of theirs."""

from __future__ import annotations

import json
from pathlib import Path

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Cause
from bastion.model.stored.records import Claim, Facts
from tests.support.fleet import Fleet, until


def test_a_claim_and_facts_that_name_anothers_machine_end_nothing_of_theirs(tmp_path: Path) -> None:
    here = Fleet(tmp_path)
    try:
        here.create()
        flags = {name: tmp_path / name for name in ("go", "fail")}
        waits = {name: f"echo on; until [ -e {flag} ]; do sleep 0.05; done" for name, flag in flags.items()}
        theirs = here.submit("theirs", run=waits["go"])
        mine = here.submit("mine", "--max_tries=2", "--retry_interval=1s", run=f"{waits['fail']}; exit 1")
        until(lambda: all(here.log(job) == "on\n" for job in (theirs, mine)))
        until(lambda: dated(here, AttemptKey(theirs, 0, 0)))
        machine, other = (machine_of(here, AttemptKey(job, 0, 0)) for job in (theirs, mine))
        retry, key = layout.claim(AttemptKey(mine, 0, 1), 0), AttemptKey(theirs, 0, 0)
        here.put(retry, encode(Claim(machine=machine, address="127.0.0.1", port=1, nonce="forged")))
        here.put(layout.facts(key, 0), encode(Facts(phase="ended", machine=other, cause=Cause.OK, exit_code=0)))
        flags["fail"].touch()
        until(lambda: said(here, f"{retry} cannot be used: it names '{machine}'"))
        until(lambda: said(here, f"{layout.facts(key, 0)} is not used: it names the machine '{other}'"))
        assert here.run("launch", "stop", mine).returncode == 0
        until(lambda: here.job(mine)["state"] == "CANCELLING")
        until(lambda: said(here, retry))
        assert here.job(theirs)["state"] == "RUNNING"
        by_hand = said(here, retry).partition(", replace it by ")[2]
        here.put(retry, by_hand.encode())
        here.await_state(mine, "CANCELLED")
        flags["go"].touch()
        assert here.wait(theirs) == 0
        assert (here.log(theirs), len(here.job(theirs)["attempts"])) == ("on\n", 1)
    finally:
        here.close()


def machine_of(here: Fleet, key: AttemptKey) -> str:
    """By its claim."""
    return str(json.loads((here.root / layout.claim(key, 0)).read_bytes())["machine"])


def dated(here: Fleet, key: AttemptKey) -> bool:
    """Its facts tell since when it runs: its worker writes them no more till its end."""
    return bool(json.loads((here.root / layout.facts(key, 0)).read_bytes()).get("started"))


def said(here: Fleet, what: str) -> str:
    """The problem in `bastion status` that says this; empty if none does."""
    return next((problem for problem in here.problems() if what in problem), "")
