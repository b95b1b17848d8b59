"""A real bastion on a real Ray, driven by our own tools."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

from bastion.testing.fleets import until
from tests.ray.cluster import Cluster
from tests.support.fleet import Fleet

_START = """
import sys
from bastion.__main__ import bastion
from bastion.runners.ray import runner
runner.LOST_S = float(sys.argv.pop(1))
sys.exit(bastion())
"""


class RayTown:
    """A bastion whose only runner is Ray. What Ray has lost sight of is gone `lost_s` later."""

    def __init__(self, fleet: Fleet, cluster: Cluster, lost_s: float = 90.0) -> None:
        self.fleet, self.dashboard, self.lost_s = fleet, cluster.door, lost_s
        fleet.create("--capacity=cpu=1")
        assert fleet.run("bastion", "stop").returncode == 0
        options = {"address": cluster.address, "token_file": str(cluster.token), "python": cluster.python}
        lines = [
            f"{name} = {json.dumps(value)}\n" for name, value in (*options.items(), ("folder", f"{fleet.folder}/node"))
        ]
        fleet.put("config.toml", f'runners = ["ray"]\n[runner_options.ray]\n{"".join(lines)}'.encode())
        self.bastion = self.start()

    def start(self) -> subprocess.Popen[str]:
        """Start the bastion, and wait until it is at work."""
        words = ["-c", _START, str(self.lost_s), "start", "--poll=0.1"]
        with open(self.fleet.folder / "bastion.log", "a") as log:
            self.bastion = self.fleet.popen(sys.executable, *words, stdout=log, stderr=log)
        until(lambda: f"pid {self.bastion.pid} " in self.fleet.run("bastion", "status").stdout, "the bastion")
        return self.bastion

    def fall(self) -> None:
        """Kill -9 of the bastion."""
        self.bastion.send_signal(signal.SIGKILL)
        self.bastion.wait()

    def ours(self) -> list[str]:
        """The states of our Ray jobs."""
        rows = json.loads(self.dashboard.ask("GET", "/api/jobs/").data)
        return [row["status"] for row in rows if str(row["submission_id"]).startswith("bastion~demo-")]

    def close(self) -> None:
        """End all of it."""
        self.bastion.terminate()
        self.bastion.wait()
        self.fleet.close()
