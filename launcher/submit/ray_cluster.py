"""A Ray cluster as a job: the command of each worker of the gang, and the addresses that result. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from bastion.model.job.spec import JobSpec
from bastion.model.state.state import AttemptState, Job
from bastion.quota.resources import Resources

MARK = "# a Ray cluster: worker 0 is its head"
"""The first line of a cluster's command."""

_DASHBOARD, _CLIENT = -1, -2
"""Offsets of the head's further ports from the gang's port. That port was free when the head's worker chose it."""

_GIB = 2**30
_COMMAND = """
export RAY_USAGE_STATS_ENABLED=0 TMPDIR=/tmp  # Ray makes sockets there, whose names are to be short
set -- --block --disable-usage-stats --dashboard-agent-listen-port=0 --min-worker-port=0 --max-worker-port=0{amounts}
if [ "$RANK" = 0 ]; then
    exec ray start --head --port="$MASTER_PORT" --dashboard-host="$MASTER_ADDR" \\
        --dashboard-port="$((MASTER_PORT{dashboard:+}))" --ray-client-server-port="$((MASTER_PORT{client:+}))" "$@"
fi
command -v ray >/dev/null || exec ray
until ray health-check --address="$MASTER_ADDR:$MASTER_PORT" >/dev/null 2>&1; do sleep 3; done
exec ray start --address="$MASTER_ADDR:$MASTER_PORT" "$@"
"""


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of the head of a running cluster.

    host: address of worker 0.
    port: the gang's port, where Ray's head node listens.
    """

    host: str
    port: int

    @property
    def dashboard_port(self) -> int:
        """The port of the dashboard and of the Job API."""
        return self.port + _DASHBOARD

    def urls(self) -> dict[str, str]:
        """Return the addresses of the dashboard with the Job API, for `ray.init`, and for further nodes."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return {
            "dashboard": f"http://{host}:{self.dashboard_port}",
            "client": f"ray://{host}:{self.port + _CLIENT}",
            "head": f"{host}:{self.port}",
        }


def command(resources: Resources) -> str:
    """Return the command of each worker on a machine with these resources. Ray counts the GPUs itself."""
    amounts = f" --num-cpus={resources['cpu']}" if "cpu" in resources else ""
    amounts += f" --memory={resources['memory'] * _GIB}" if "memory" in resources else ""
    return MARK + _COMMAND.format(amounts=amounts, dashboard=_DASHBOARD, client=_CLIENT)


def is_cluster(spec: JobSpec) -> bool:
    """Return True if this job was submitted as a cluster."""
    return isinstance(spec.command, str) and spec.command.startswith(MARK)


def addresses(job: Job | None) -> Addresses | None:
    """Return the addresses of the head; None while the job does not run."""
    task = job.tasks.get(0) if job else None
    attempt = task.attempts[-1] if task and task.attempts else None
    if attempt is None or attempt.state is not AttemptState.RUNNING:
        return None
    head = attempt.workers[0]
    return Addresses(head.address, head.port) if head.seen and not head.over else None
