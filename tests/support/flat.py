"""File systems of fsspec for tests: a flat store of objects in memory that keeps its promises, and some that do not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from fsspec import AbstractFileSystem, register_implementation
from fsspec.registry import _registry

Objects = dict[str, tuple[bytes, str, datetime]]
STORES: dict[str, tuple[Lock, Objects]] = {}


class Flat(AbstractFileSystem):
    """`flat://name/key`: exclusive create, and replace of one version by `if_match`. An etag hashes the content."""

    protocol = "flat"
    cachable = False

    def store(self, path: str) -> tuple[Lock, Objects]:
        return STORES.setdefault(path.split("/", 1)[0], (Lock(), {}))

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        data, etag, modified = self.object(path)
        return {"name": path, "size": len(data), "type": "file", "etag": etag, "last_modified": modified}

    def object(self, path: str) -> tuple[bytes, str, datetime]:
        try:
            return self.store(path)[1][path]
        except KeyError:
            raise FileNotFoundError(path) from None

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        return self.object(path)[0]

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **how: Any) -> None:
        lock, objects = self.store(path)
        with lock:
            self.admit(objects, path, mode, how)
            objects[path] = (value, f'"{hash(value)}"', datetime.now(UTC))

    def admit(self, objects: Objects, path: str, mode: str, how: dict[str, Any]) -> None:
        if mode == "create" and path in objects:
            raise FileExistsError(path)
        if "if_match" in how and (path not in objects or objects[path][1].strip('"') != how["if_match"]):
            raise Refused(412)

    def rm_file(self, path: str) -> None:
        lock, objects = self.store(path)
        with lock:
            if objects.pop(path, None) is None:
                raise FileNotFoundError(path)

    def find(self, path: str, maxdepth: int | None = None, withdirs: bool = False, **_: Any) -> dict[str, Any]:
        lock, objects = self.store(path)
        with lock:
            return {name: self.info(name) for name in objects if name.startswith(path)}


class Refused(Exception):
    """What a client of HTTP raises."""

    def __init__(self, status: int) -> None:
        super().__init__("the store said no")
        self.status = status


class Overwriting(Flat):
    """Knows no exclusive create, and says nothing of it."""

    protocol = "overwriting"

    def admit(self, objects: Objects, path: str, mode: str, how: dict[str, Any]) -> None:
        super().admit(objects, path, "overwrite", how)


class Looking(Flat):
    """Looks first and writes then, as fsspec does where a file system has no exclusive create of its own."""

    protocol = "looking"

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **how: Any) -> None:
        if mode == "create":
            if path in self.store(path)[1]:
                raise FileExistsError(path)
            time.sleep(0.05)  # so that whoever races looks meanwhile, on a busy machine, too
        super().pipe_file(path, value, **how)


@contextmanager
def registered() -> Iterator[None]:
    """Within it fsspec knows these."""
    kinds = (Flat, Overwriting, Looking)
    for kind in kinds:
        register_implementation(kind.protocol, kind, clobber=True)
    try:
        yield
    finally:
        for kind in kinds:
            _registry.pop(kind.protocol, None)
