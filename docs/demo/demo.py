"""The main job in under a minute, on this machine alone: run me with `make demo`.

Every command is printed before it runs, and you can type it yourself. Each claim of the story is checked: the demo
fails if one is not true. It works in a temporary folder, and leaves neither files nor processes behind.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

HERE = Path(__file__).resolve().parent
TOOLS = Path(sys.executable).parent
PATIENCE_S = 180.0
CURTAIN_S = 60.0
LOOK_S = 0.1
NOT_ENDED = 101
LIES = {
    "config.toml": "settings of the bastion",
    "project-quotas/": "the quota file",
    "inbox/": "requests that are not read yet",
    "bundles/": "code, named by its content",
    "journal/": "all that ever happened: the state is the fold of it",
    "attempts/": "orders from the bastion to workers",
    "claims/": "which machine runs what, once and for all",
    "beats/": "signs of life",
    "workers/": "what workers know of their processes",
    "logs/": "what jobs printed",
    "outputs/": "what jobs wrote: checkpoints, models",
    "bastion-log/": "what the bastion did",
    "status.json": "the bastion's sign of life",
}


@dataclass(frozen=True)
class Stage:
    """Where the story plays: a folder of its own, and the environment of its commands."""

    folder: Path
    environ: Mapping[str, str]

    def popen(self, command: str, **how: Any) -> subprocess.Popen[str]:
        """Start one of our two tools."""
        tool, *words = shlex.split(command)
        return subprocess.Popen([str(TOOLS / tool), *words], cwd=HERE, env=self.environ, text=True, **how)

    def run(self, command: str, *, code: int = 0) -> None:
        """Print a command and run it. It must exit with this code."""
        type_in(command)
        with self.popen(command, stderr=subprocess.STDOUT) as process:
            process.wait()
        check(process.returncode == code, f"`{command}` exits with {code}, and not with {process.returncode}")

    def read(self, command: str) -> str:
        """What a command prints, kept from the audience. It must exit with 0."""
        with self.popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            out, err = process.communicate()
        check(process.returncode == 0, f"`{command}` exits with 0, and not with {process.returncode}: {err}")
        return out

    def ask(self, command: str) -> Any:
        """The JSON that a command prints."""
        return json.loads(self.read(command))

    def job(self, name: str) -> dict[str, Any]:
        """What is known of a job."""
        return next(job for job in self.ask("launch ls --all --json")["jobs"] if job["name"] == name)


def main() -> int:
    """Play. 0 if everything went as it was told."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    try:
        with stage() as here:
            story(here)
    except KeyboardInterrupt:
        print("\ninterrupted; everything is cleaned up")
        return 130
    except Untrue as claim:
        print(f"\nthis did not go as told: {claim}", file=sys.stderr)
        return 1
    say(f"That was all, in {time.monotonic() - began:.0f} seconds. No file and no process is left.")
    return 0


def story(here: Stage) -> None:
    """What a newcomer should see."""
    found_a_bastion(here)
    borrow(here)
    reclaim(here)
    resume(here)
    look_around(here)


def found_a_bastion(here: Stage) -> None:
    """A bastion on a folder, and a quota."""
    say("A bucket is all that is shared, here a folder. A bastion watches it and divides this machine's 8 units of v4.")
    here.run(f"bastion create --name=demo --bucket={here.environ['BASTION_BUCKET']} --local --capacity=v4=8,cpu=4"
             " --poll=0.5 --reclaim_delay=0")  # fmt: skip
    say("Two projects share them, half and half: nlp is alice's, vision is bob's.")
    here.run("bastion quota set quota.toml --yes")
    here.run("bastion quota show")


def borrow(here: Stage) -> None:
    """One project takes everything, since nobody else is there."""
    say("Nobody else is here, so alice takes all 8: her 4, and 4 that vision leaves idle.")
    here.run("launch --name=train --user_id=alice --resources=v4=8 -- python3 train.py --steps=200")
    say("Her log comes back through the bucket. Ctrl-C leaves the log, never stops the job.")
    follow(here, "launch logs train", until="step 12/")
    uses = {use["project"]: use for use in here.ask("bastion quota show --json")["usage"]}
    check(uses["nlp"]["borrowed"] == 4, f"nlp has borrowed 4, and not {uses['nlp']}")


def reclaim(here: Stage) -> None:
    """The other project wants its share."""
    say("Now bob wants 4, which are his project's. Alice's job gets notice (SIGTERM) and time to save its checkpoint.")
    here.run("launch --name=eval --user_id=bob --resources=v4=4 -- python3 train.py --steps=45")
    wait(
        lambda: ended(here.job("train")) and here.job("eval")["state"] in ("RUNNING", "SUCCEEDED"),
        "bob's job takes over from alice's",
    )
    first = here.job("train")["attempts"][0]
    check(first["cause"] == "preempted", f"alice's job was preempted, and not {first['cause']}")
    say("It is back in the queue, in its old place, and the queue says why it waits:")
    here.run("launch ls --all")
    here.run("launch logs train --attempt=0 --no_follow --tail=3", code=NOT_ENDED)
    say("Bob's job runs to its end. `launch wait` exits as the job does.")
    here.run("launch wait eval")


def resume(here: Stage) -> None:
    """Who was stopped goes on where it was."""
    say("The 4 are idle again, so alice's job goes on from its checkpoint; a preemption costs none of its tries.")
    here.run("launch wait train")
    here.run("launch logs train --attempt=1 --no_follow --grep=resuming|200/200|done")
    done = here.job("train")
    check([attempt["cause"] for attempt in done["attempts"]] == ["preempted", "ok"], f"it took two attempts: {done}")
    log = here.read("launch logs train --attempt=1 --no_follow")
    check("resuming after step" in log and "step 1/200" not in log, "the second attempt began at the checkpoint")


def look_around(here: Stage) -> None:
    """What is left of it all."""
    say("The queue, and the account of what happened to alice's job:")
    here.run("launch ls --all")
    here.run("launch why train")
    say("And this is everything there is, as plain objects in the bucket:")
    root = here.folder / "bucket" / "demo"
    for name, about in LIES.items():
        files = [file for file in (root / name).rglob("*") if file.is_file()] or [root / name]
        number = len(files) if name.endswith("/") and files[0].is_file() else int((root / name).is_file())
        print(f"  demo/{name:<16} {number:>3}  {about}")


def follow(here: Stage, command: str, *, until: str) -> None:
    """Show what a command prints up to a line, then leave it as Ctrl-C does."""
    type_in(command)
    with here.popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            seen = show(process, until)
        finally:
            process.send_signal(signal.SIGINT)
    check(seen, f"`{command}` shows {until!r}")


def show(process: subprocess.Popen[str], until: str) -> bool:
    """Print lines up to the one that is looked for. False if it never came."""
    assert process.stdout is not None
    for line in process.stdout:
        print(f"  {line}", end="", flush=True)
        if until in line:
            print("  ^C", flush=True)
            return True
    return False


def ended(job: Mapping[str, Any]) -> bool:
    """True once its first attempt has ended."""
    return bool(job["attempts"]) and job["attempts"][0]["state"] == "ENDED"


def wait(condition: Callable[[], bool], what: str) -> None:
    """Look again and again."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        check(time.monotonic() < deadline, f"{what}, within {PATIENCE_S:.0f} s")
        time.sleep(LOOK_S)


class Untrue(Exception):
    """The story claims what is not so."""


def check(true: bool, claim: str) -> None:
    """The story ends here if a claim of it is not true."""
    if not true:
        raise Untrue(claim)


def say(text: str) -> None:
    """The narrator."""
    print(f"\n# {text}", flush=True)


def type_in(command: str) -> None:
    """A command, as one would type it."""
    bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    print(f"\033[1m$ {command}\033[0m" if bold else f"$ {command}", flush=True)


@contextmanager
def stage() -> Iterator[Stage]:
    """A stage that is empty again afterwards, whatever happened on it."""
    with tempfile.TemporaryDirectory(prefix="bastion-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        ours = {
            "BASTION_NAME": "demo",
            "BASTION_BUCKET": f"file://{folder}/bucket",
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_CACHE_HOME": str(folder / "cache"),
        }
        here = Stage(folder, {**os.environ, **ours})
        try:
            yield here
        finally:
            clear(here)


def clear(here: Stage) -> None:
    """End the bastion and its jobs. Nothing may be left then; if the story broke off, what is left is ended, too."""
    with here.popen("bastion delete --force --yes", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        process.wait()
    _, left = psutil.wait_procs(processes(here), timeout=CURTAIN_S)
    for process in left:
        process.kill()
    check(not left, f"no process is left, and not {left}")


def processes(here: Stage) -> list[psutil.Process]:
    """All processes that were started for this stage: its folder is in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("XDG_STATE_HOME") == here.environ["XDG_STATE_HOME"]:
                found.append(process)
        except psutil.Error:
            continue
    return found


if __name__ == "__main__":
    sys.exit(main())
