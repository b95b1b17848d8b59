"""The boot metadata of Google's machines.

It names a build of the worker, which is in the bucket before a machine is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock

from bastion.model.interfaces import AttemptKey, Bucket, Shell

from ...delivery.archive import Archive, make, publish
from ...delivery.bootstrap import ACCOUNT, MachineGroup, metadata


class MachineBoot:
    """The maker of machine metadata. Safe for threads.

    bucket: the bastion's part of the bucket, to which the build is published.
    url: its URL.
    shell: the shell that the build is made with.
    flags: the flags of every worker.
    run_as: the Unix account of the jobs.
    make: makes the build. It is called once, at the first use.
    """

    def __init__(
        self,
        bucket: Bucket,
        url: str,
        shell: Shell,
        flags: Mapping[str, str],
        *,
        run_as: str = ACCOUNT,
        make: Callable[[Shell], Archive] = make,
    ) -> None:
        self._bucket, self._url, self._shell = bucket, url, shell
        self._flags, self._run_as, self._make = flags, run_as, make
        self._archive: Archive | None = None
        self._digest = ""
        self._making = Lock()

    def __call__(self, key: AttemptKey, machine: str) -> Mapping[str, str]:
        """Return the metadata for the machines of one creation; `machine` is as in `MachineGroup`.

        Raises `RunnerError`, `BucketError`.
        """
        return metadata(
            MachineGroup(
                key=key,
                machine=machine,
                base=0,
                bucket=self._url,
                build=self.build(),
                run_as=self._run_as,
                flags={**self._flags, "creation": machine.rpartition("/")[2]},
            )
        )

    def build(self) -> str:
        """Return the digest of the build, which is then in the bucket.

        The first call takes some seconds, and raises as a call of this object does.
        """
        with self._making:
            if not self._digest:
                self._archive = self._archive or self._make(self._shell)
                publish(self._bucket, self._archive)
                self._digest, self._archive = self._archive.digest, None
            return self._digest
