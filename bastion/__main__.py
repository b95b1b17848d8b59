"""Every program of ours is entered here: the console scripts, and `python -I -m bastion PROGRAM ...` for what we start ourselves.

`-I` keeps the working folder and PYTHONPATH off the path, so that no module of a user stands in for one of a library. All that
is ours has one import name, `bastion`: a user's own `cli` or `quota` is theirs, here and in their notebook.
"""

from __future__ import annotations

import sys


def bastion() -> int:
    """The console script `bastion`."""
    from bastion.cli.bastion.tool import TOOL
    from bastion.cli.terminal.main import main

    return main(TOOL)


def launch() -> int:
    """The console script `launch`."""
    from bastion.cli.launch.tool import TOOL
    from bastion.cli.terminal.main import main

    return main(TOOL)


def snapshot() -> int:
    """The child of a bastion that writes a snapshot."""
    from bastion.cli.bastion.parts.snapshot_program import TOOL
    from bastion.cli.terminal.main import main

    return main(TOOL)


def worker() -> int:
    """The program on the machines."""
    from bastion.runners.programs.worker import main

    return main(sys.argv[1:])


def lay() -> int:
    """The init container of a pod."""
    from bastion.runners.programs.lay import main

    return main(sys.argv[1:])


def ray_host() -> int:
    """The program of a Ray job: it starts a worker on a node of Ray."""
    from bastion.runners.programs.ray_host import main

    return main(sys.argv[1:])


def simulate() -> int:
    """The console script `bastion-simulate`: the simulated worlds are part of the tests, and not of what is installed."""
    print(
        "bastion-simulate: the simulation is not installed; run it in a checkout of Bastion: make simulate SEED=28",
        file=sys.stderr,
    )
    return 1


PROGRAMS = {
    "bastion": bastion,
    "launch": launch,
    "lay": lay,
    "ray-host": ray_host,
    "snapshot": snapshot,
    "worker": worker,
}


def _main() -> int:
    program = PROGRAMS.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if program is None:
        print(f"usage: python -I -m bastion {'|'.join(PROGRAMS)} ...", file=sys.stderr)
        return 2
    del sys.argv[1]
    return program()


if __name__ == "__main__":
    sys.exit(_main())
