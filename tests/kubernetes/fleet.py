"""A fake cluster as a fleet for the runners' contract."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bastion.model.interfaces import AttemptKey, Clock
from bastion.platform.system import RandomIds, SystemClock
from bastion.runners.kubernetes import render
from bastion.runners.kubernetes.client import ClusterLogin, KubernetesClient
from bastion.runners.kubernetes.names import KubernetesLabels
from bastion.runners.kubernetes.runner import KubernetesRunner
from bastion.runners.kubernetes.settings import settings
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from bastion.testing.fleets import ProcessFleet, sealing
from bastion.testing.stage import placement
from tests.kubernetes.fake.server import IMAGE, Cluster

SCOPE = "bastion-1-1234abcd"


class Impatient:
    """A clock whose sleeps are over at once."""

    def sleep(self, seconds: float) -> None: ...


class KubernetesFleet(ProcessFleet):
    """A `KubernetesRunner` on a fake cluster, with one bastion's part of a bucket below `folder`."""

    def __init__(self, folder: Path, *, options: Mapping[str, Any] | None = None, **cluster: bool) -> None:
        self.folder = folder
        self.options = {"image": IMAGE, **(options or {})}
        self.bucket = PrefixedBucket(LocalBucket(f"file://{folder}/bucket", create=True), "bastion-1")
        self.cluster = Cluster(folder / "pods", **cluster)
        self.runner = self.again()

    def again(self) -> KubernetesRunner:
        return self.by(SystemClock())

    def stranger(self) -> KubernetesRunner:
        return self.by(SystemClock(), scope="another-1234abcd")

    def by(self, clock: Clock, url: str = "", scope: str = SCOPE) -> KubernetesRunner:
        """A new runner by this clock, of a bastion of this scope, led to another address than the cluster's."""
        self.client = KubernetesClient(lambda: ClusterLogin(url or self.cluster.url), clock)
        return KubernetesRunner(
            api=self.client,
            settings=settings(self.options),
            scope=scope,
            ids=RandomIds(),
            seal=sealing(),
            clock=clock,
            worker=render.WorkerFlags(bucket=self.bucket.url, flags={"steady_flush_s": 1}),
        )

    @contextmanager
    def away(self) -> Iterator[None]:
        """Nobody listens at its address."""
        client = self.client
        clock, client.clock = client.clock, Impatient()  # type: ignore[assignment]
        try:
            with self.cluster.away():
                yield
        finally:
            client.clock = clock

    @contextmanager
    def answers_lost(self) -> Iterator[None]:
        """The connection breaks when it is done, however often it is tried."""
        self.cluster.fails("POST .*", 0, times=100)
        try:
            yield
        finally:
            self.cluster.mend()

    def spoof(self, key: AttemptKey, worker: int, epoch: int) -> str:
        """Somebody who may make Jobs in this namespace gives one the labels of ours."""
        mark = KubernetesLabels(scope=SCOPE, key=key, epoch=epoch, nonce="0" * 32, hosts=worker + 1, workers=worker + 1)
        wish = placement(key, worker + 1, epoch)
        worker_of = render.WorkerFlags(bucket=self.bucket.url)
        body = render.manifest(render.JOB, "eve", mark, wish, settings(self.options), worker_of)
        container = body["spec"]["template"]["spec"]["containers"][0]
        container |= {"command": [container["command"][0], "-c", "import time; time.sleep(600)"], "args": []}
        self.client.create("/apis/batch/v1/namespaces/default/jobs", body)
        found: list[str] = []

        def there() -> bool:
            found[:] = [
                one.id for one in self.runner.list() if one.epoch == epoch and one.worker == worker and one.seen
            ]
            return bool(found)

        self.until(there, "a pod of eve's")
        return found[0]

    def take_away(self, machine: str) -> None:
        """Its node is drained."""
        self.cluster.evict(machine.split("/")[0])

    def questions(self) -> int:
        return self.client.asked

    def close(self) -> None:
        self.cluster.close()
