"""The same Slurm with accounting: a real slurmdbd over a MariaDB of its own. Wants slurmdbd and mariadb-server-core."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.slurm.cluster import Cluster, free_ports

_DAEMON = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdPort={port}
SlurmUser=root
PidFile={folder}/accounting.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={storage}
StorageUser=root
"""


class Accounted(Cluster):
    """Its accounts are `ml`, and `small` with one processor; `root` may use both, and the QOS `normal` and `short`."""

    def __init__(self, folder: Path) -> None:
        self._port, self._storage = free_ports(2)
        self.accounting = f"""
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={self._port}
AccountingStoragePass={folder}/munge.socket
AccountingStorageEnforce=associations,limits,qos
SchedulerParameters=sched_interval=1,bf_interval=1
"""
        super().__init__(folder)

    def start_accounting(self) -> None:
        """Start the database and slurmdbd, and tell it the accounts."""
        data = self.folder / "database"
        made = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root", "--skip-test-db"]
        subprocess.run([*made, "--auth-root-authentication-method=normal"], check=True, capture_output=True)
        flags = f"--datadir={data} --socket={self.folder}/database.socket --port={self._storage} --user=root"
        small = "--innodb-buffer-pool-size=32M --innodb-log-file-size=8M --innodb-flush-log-at-trx-commit=0"
        self._start(
            "database", ["mariadbd", "--no-defaults", "--bind-address=127.0.0.1", *flags.split(), *small.split()]
        )
        self.until(lambda: (self.folder / "database.socket").exists(), "the database")
        conf = self.folder / "slurmdbd.conf"
        conf.write_text(_DAEMON.format(folder=self.folder, port=self._port, storage=self._storage))
        conf.chmod(0o600)
        self.start_daemon()
        self._account("add", "cluster", "test")
        self._account("add", "qos", "short")
        for account, limit in (("ml", ""), ("small", "GrpTRES=cpu=1")):
            self._account("add", "account", account, *limit.split())
            self._account("add", "user", "root", f"account={account}", "qos=normal,short")
        self._account("modify", "qos", "short", "set", "MaxWall=1")

    def start_daemon(self) -> None:
        """Start slurmdbd, and wait until it answers."""
        self._start("accounting", ["slurmdbd", "-D"])
        self.until(lambda: self.run(["sacctmgr", "-n", "show", "cluster"], limit_s=60).code == 0, "slurmdbd's answer")

    def _account(self, *words: str) -> None:
        self.say("sacctmgr", "-i", *words)
