"""Every program of ours is entered here, through one module whose name nobody else has.

Users' folders hold packages named `cli` or `quota` too. So before anything of ours is imported, the working folder
and PYTHONPATH leave the path; and whatever we start ourselves runs as `python -I -m bastion_entry PROGRAM ...`.
"""

from __future__ import annotations

import os
import sys


def bastion() -> int:
    """The console script `bastion`."""
    _leave_the_users_folders()
    from cli.bastion import TOOL
    from cli.main import main

    return main(TOOL)


def launch() -> int:
    """The console script `launch`."""
    _leave_the_users_folders()
    from cli.launch import TOOL
    from cli.main import main

    return main(TOOL)


def snapshot() -> int:
    """The child of a bastion that writes a snapshot."""
    _leave_the_users_folders()
    from cli.main import main
    from cli.snapshot import TOOL

    return main(TOOL)


def worker() -> int:
    """The program on the machines."""
    _leave_the_users_folders()
    from cli.worker import main

    return main(sys.argv[1:])


def lay() -> int:
    """The init container of a pod."""
    _leave_the_users_folders()
    from cli.lay import main

    return main(sys.argv[1:])


def ray_host() -> int:
    """What a Ray job of ours runs."""
    _leave_the_users_folders()
    from cli.ray_host import main

    return main(sys.argv[1:])


def simulate() -> int:
    """The console script `bastion-simulate`."""
    _leave_the_users_folders()
    try:
        from worlds.main import main
    except ModuleNotFoundError as missing:
        if missing.name != "greenlet":
            raise
        print("bastion-simulate needs the package greenlet; pip install 'bastion-scheduler[simulate]'", file=sys.stderr)
        return 1
    return main(sys.argv[1:])


PROGRAMS = {
    "bastion": bastion,
    "launch": launch,
    "lay": lay,
    "ray-host": ray_host,
    "simulate": simulate,
    "snapshot": snapshot,
    "worker": worker,
}


def _leave_the_users_folders() -> None:
    home = os.path.dirname(os.path.realpath(__file__))
    theirs = {_real(folder) for folder in ("", *os.environ.get("PYTHONPATH", "").split(os.pathsep))} - {home}
    sys.path[:] = [folder for folder in sys.path if _real(folder) not in theirs]


def _real(folder: str) -> str:
    try:
        return os.path.realpath(folder)
    except FileNotFoundError:  # the working folder was removed
        return ""


def _main() -> int:
    program = PROGRAMS.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if program is None:
        print(f"usage: python -I -m bastion_entry {'|'.join(PROGRAMS)} ...", file=sys.stderr)
        return 2
    del sys.argv[1]
    return program()


if __name__ == "__main__":
    sys.exit(_main())
