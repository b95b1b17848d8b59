"""The job of the chaos test: writes numbered lines, and notes beside the bucket what it has written.

Run as `python -I writer.py HOME LINES PATIENT`. It ends after `LINES` lines; a patient one not before there is a file `go`.
"""

import fcntl
import os
import sys
import time
from pathlib import Path

PAUSE_S = 0.03


def main(home: Path, lines: int, patient: bool) -> int:
    """3 if another attempt of this job is alive."""
    job, attempt = os.environ["BASTION_JOB"], os.environ["BASTION_ATTEMPT"]
    alone = os.open(home / "locks" / job, os.O_RDWR | os.O_CREAT)
    _note(home / "starts", f"{job} {attempt} {os.getpid()}")
    try:
        fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _note(home / "doubled", f"{job} {attempt}")
        return 3
    noted = os.open(home / "printed" / f"{job}.{attempt}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    number = 0
    while number < lines or (patient and not (home / "go").exists()):
        number += 1
        os.write(1, f"{job} {attempt} line {number}\n".encode())
        os.write(noted, b".")
        time.sleep(PAUSE_S)
    _note(home / "done", f"{job} {attempt}")
    return 0


def _note(file: Path, line: str) -> None:
    with file.open("a") as noted:
        noted.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "patient"))
