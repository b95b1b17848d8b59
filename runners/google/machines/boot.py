"""How machines of Google's come to their worker: each is told of a build that is in the bucket before it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock

from bastion.model.interfaces import AttemptKey, Bucket, Shell

from ...delivery.archive import Archive, make, publish
from ...delivery.bootstrap import ACCOUNT, Boot, metadata


class MachineBoot:
    """Makes the metadata of machines. Safe for threads.

    `url` is that of the bastion's part of the bucket, `flags` are those of every worker. The build is made once, the first
    time that it is asked for.
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
        """What the machines of one creation are told; `machine` as in `Boot`. Raises `RunnerError`, `BucketError`."""
        return metadata(
            Boot(
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
        """The digest of the build, which is in the bucket. Takes some seconds the first time; raises as a call does."""
        with self._making:
            if not self._digest:
                self._archive = self._archive or self._make(self._shell)
                publish(self._bucket, self._archive)
                self._digest, self._archive = self._archive.digest, None
            return self._digest
