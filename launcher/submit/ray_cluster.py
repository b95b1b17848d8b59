"""A Ray cluster as a job: the command that each worker of its gang runs, and the addresses of what that starts. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from bastion.model.job.spec import JobSpec
from bastion.model.state.state import AttemptState, Job
from bastion.quota.resources import Resources

MARK = "# a Ray cluster: worker 0 is its head"
"""How the command of a cluster begins."""

_DASHBOARD, _CLIENT = -1, -2
"""Where the head listens besides, from the gang's port, which was free when the head's worker chose it."""

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
    """Where the head of a running cluster is reached."""

    host: str
    port: int

    @property
    def dashboard_port(self) -> int:
        """Where the dashboard and the Job API listen."""
        return self.port + _DASHBOARD

    def urls(self) -> dict[str, str]:
        """What people and programs connect to: the dashboard and the Job API, `ray.init`, and further nodes."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return {
            "dashboard": f"http://{host}:{self.dashboard_port}",
            "client": f"ray://{host}:{self.port + _CLIENT}",
            "head": f"{host}:{self.port}",
        }


def command(resources: Resources) -> str:
    """What each worker runs, on a machine of these resources; GPUs are counted by Ray itself."""
    amounts = f" --num-cpus={resources['cpu']}" if "cpu" in resources else ""
    amounts += f" --memory={resources['memory'] * _GIB}" if "memory" in resources else ""
    return MARK + _COMMAND.format(amounts=amounts, dashboard=_DASHBOARD, client=_CLIENT)


def is_cluster(spec: JobSpec) -> bool:
    """Was this submitted as a cluster?"""
    return isinstance(spec.command, str) and spec.command.startswith(MARK)


def addresses(job: Job | None) -> Addresses | None:
    """Where the head is; None while the job does not run."""
    task = job.tasks.get(0) if job else None
    attempt = task.attempts[-1] if task and task.attempts else None
    if attempt is None or attempt.state is not AttemptState.RUNNING:
        return None
    head = attempt.workers[0]
    return Addresses(head.address, head.port) if head.seen and not head.over else None
