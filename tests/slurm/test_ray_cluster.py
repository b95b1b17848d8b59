"""`launch cluster` on a real Slurm: a real Ray of two of its nodes is a job of two workers."""

from __future__ import annotations

from pathlib import Path

from bastion.testing.fleets import until
from tests.ray.resident import nodes, short_folder, up
from tests.slurm.cluster import Cluster
from tests.slurm.team import start


def test_a_ray_cluster_has_two_nodes_of_slurm_until_it_is_taken_down(tmp_path: Path, slurm: Cluster) -> None:
    team = start(tmp_path, slurm)
    try:
        with short_folder() as folder:
            said = up(team, "dev", folder, "--num_replicas=2", "--resources=cpu=2")
            assert said.returncode == 0, said
            until(lambda: team.ask("launch", "cluster", "details", "dev").get("answers"), "the dashboard")
            found = team.ask("launch", "cluster", "details", "dev")
            until(lambda: [node["CPU"] for node in nodes(found)] == [2, 2], "both nodes")
            busy = slurm.say("squeue", "-h", "-o", "%D %t").split()
            assert busy == ["2", "R"]
            assert team.run("launch", "cluster", "down", "dev", "--wait").returncode == 0
            assert nodes(found) == []
            slurm.until(lambda: not slurm.say("squeue", "-h", "-o", "%i").split(), "the end of all jobs")
    finally:
        team.close()
        slurm.clear()
