"""A bucket of S3, or of a store that speaks its protocol: `s3://bucket` or `s3://bucket/some/prefix`.

An object's version is its ETag. That is a hash of the content: equal bytes would have equal versions, which could
mislead a swap. So each write adds a salt of its own (`version_salt`), which reading takes off again. s3fs brings
credentials, connections and the event loop that they live in; it is imported when a bucket is opened.
`AWS_ENDPOINT_URL` and the other variables of AWS are followed. Only `retries` repeats a request, and nothing below it:
our own first try may be the reason why a create is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

from ..model.errors import AccessDenied, BastionError, BucketError, BucketNotFound, ObjectNotFound, TooLarge, UsageError
from ..model.interfaces import Stat, StoredObject
from . import version_salt
from .keys import PAGE, check_key, check_prefix, check_size, is_key
from .retries import ask, is_passing

_URL = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:/[^/]+)*)/?")
_VERSION = re.compile(r"[A-Za-z0-9_.+/=-]{1,128}")  # never `*`, which would mean: any
_NO_XML = re.compile("[\ufffe\uffff]")
_LONGEST_PREFIX = 120
_CONNECTIONS = 32
_CLOSE_S = 5.0
_SLOWEST = 256 * 1024  # bytes a second that an upload may crawl: the store's "go on" before it has no limit of its own
_NO_BUCKET = "NoSuchBucket"

T = TypeVar("T")


class S3Bucket:
    """A bucket, or all below a prefix of it, as a `Bucket`. Safe for threads.

    A request may be silent for `request_s` seconds. Transient failures are retried, with growing pauses, until
    `limit_s` seconds have passed since the first try. Raises `UsageError` for an invalid URL, or without s3fs.
    """

    def __init__(self, url: str, *, limit_s: float = 60.0, request_s: float = 20.0) -> None:
        match = _URL.fullmatch(url)
        if match is None or len(match[2].encode()) > _LONGEST_PREFIX or not is_key(match[2][1:] or "-"):
            raise UsageError(f"bucket is {url!r}; use s3://bucket or s3://bucket/prefix (at most 120 bytes)")
        self._name, self._root = match[1], match[2][1:] + "/" if match[2] else ""
        self.url = f"s3://{self._name}/{self._root}".rstrip("/")
        self._limit_s, self._request_s = limit_s, request_s
        self._files = _open_files(self.url, request_s)
        self._client = self._files.s3

    def close(self) -> None:
        """Close the connections."""
        with suppress(TimeoutError):
            self._wait(lambda: self._files._s3creator.__aexit__(None, None, None), _CLOSE_S)

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        """Return the whole object. Raises `ObjectNotFound`, `TooLarge`."""
        check_key(key)

        async def request() -> StoredObject:
            answer = await self._client.get_object(Bucket=self._name, Key=self._root + key)
            async with answer["Body"] as body:
                if limit is not None:  # the body is as long as the answer says, or broken
                    check_size(int(answer["ContentLength"]), key, limit + version_salt.LENGTH)
                return StoredObject(version_salt.strip(await body.read()), _version(answer))

        stored = self._ask("read", key, request)
        check_size(len(stored.data), key, limit)
        return stored

    def create(self, key: str, data: bytes) -> str | None:
        """Write an object that must not exist yet. Return its version; None if the key is taken, maybe by our try."""
        try:
            return self._put(key, data, IfNoneMatch="*")
        except _Refused:
            return None

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        """Write if the object still has this version. Return the new version; None if it has another or is gone."""
        check_key(key)
        if not _VERSION.fullmatch(version):
            return None
        try:
            return self._put(key, data, IfMatch=f'"{version}"')
        except (_Refused, ObjectNotFound):
            return None

    def write(self, key: str, data: bytes) -> str:
        """Write, whatever is there. Return the new version."""
        return self._put(key, data)

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects, 1,000 in one request. Missing ones are no error."""
        to_delete = tuple(keys)
        for key in to_delete:
            check_key(key)
        for start in range(0, len(to_delete), PAGE):
            self._delete(to_delete[start : start + PAGE])

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        """List objects whose key begins with `prefix` and is greater than `after`, in order of their UTF-8 keys.

        It makes one request for each page of 1,000, when the page is needed. Names that are no keys (a console's
        folders) are left out.
        """
        check_prefix(prefix)
        return self._pages(prefix, after)

    def rules(self) -> Sequence[dict[str, Any]]:
        """Return the lifecycle rules of the whole bucket, in the format of S3."""

        async def request() -> Sequence[dict[str, Any]]:
            return list((await self._client.get_bucket_lifecycle_configuration(Bucket=self._name))["Rules"])

        try:
            return self._ask("read the lifecycle rules of", self._name, request)
        except ObjectNotFound:
            return []

    def set_rules(self, rules: Sequence[dict[str, Any]]) -> None:
        """Replace all lifecycle rules of the bucket with these."""
        bucket = {"Bucket": self._name}

        async def request() -> None:
            if rules:
                said = {"Rules": list(rules)}
                await self._client.put_bucket_lifecycle_configuration(**bucket, LifecycleConfiguration=said)
            else:
                await self._client.delete_bucket_lifecycle(**bucket)

        self._ask("change the lifecycle rules of", self._name, request)

    def _pages(self, prefix: str, after: str) -> Iterator[Stat]:
        token: str | None = ""
        while token is not None:
            stats, token = self._page(prefix, after, token)
            yield from stats

    def _page(self, prefix: str, after: str, token: str) -> tuple[tuple[Stat, ...], str | None]:
        """Make one request. Return its objects, and where the next page begins (None: there is none)."""
        where = {"Bucket": self._name, "Prefix": self._root + prefix, "MaxKeys": PAGE}
        # The answer repeats `start` in XML, so cut it before characters that XML lacks; extra keys are left out below.
        start = _NO_XML.split(after)[0]
        begin = {"ContinuationToken": token} if token else {"StartAfter": self._root + start} if start else {}

        async def request() -> tuple[tuple[Stat, ...], str | None]:
            page = await self._client.list_objects_v2(**where, **begin)
            stats = (self._stat(found) for found in page.get("Contents", ()))
            return tuple(stat for stat in stats if stat.key > after and is_key(stat.key)), page.get(
                "NextContinuationToken"
            )

        return self._ask("list", prefix, request)

    def _stat(self, found: Any) -> Stat:
        key = found["Key"].removeprefix(self._root)
        return Stat(key, _version(found), version_salt.size(found["Size"]), found["LastModified"])

    def _delete(self, keys: tuple[str, ...]) -> None:
        objects = [{"Key": self._root + key} for key in keys]

        async def request() -> None:
            answer = await self._client.delete_objects(Bucket=self._name, Delete={"Objects": objects, "Quiet": True})
            for wrong in answer.get("Errors", ()):
                raise _of_one_object(wrong)

        self._ask("delete", keys[0], request)

    def _put(self, key: str, data: bytes, **condition: str) -> str:
        """Write, and return the new version. Raises `_Refused` or `ObjectNotFound` if the object fails the condition."""
        check_key(key)
        body = version_salt.add(data, os.urandom(version_salt.NONCE_BYTES))

        async def request() -> str:
            where = {"Bucket": self._name, "Key": self._root + key}
            return _version(await self._client.put_object(**where, Body=body, **condition))

        return self._ask("write", key, request, self._request_s + len(body) / _SLOWEST)

    def _ask(self, verb: str, key: str, request: Callable[[], Awaitable[T]], wait_s: float | None = None) -> T:
        """Make a request, and retry it while that may help. `wait_s` limits what the silence limit does not see.

        Raises `ObjectNotFound`, `_Refused`, `BucketNotFound`, `AccessDenied`, or `BucketError` when the time is over.
        """
        try:
            return ask(lambda: self._wait(request, wait_s), _is_transient, self._limit_s)
        except TooLarge:
            raise
        except Exception as error:
            if _code(error) == _NO_BUCKET:
                advice = f"create it: aws s3 mb s3://{self._name}"
                raise BucketNotFound(f"{self.url}: there is no such bucket; {advice}") from error
            raise _failure(error, f"{self.url}: cannot {verb} {key!r}") from error

    def _wait(self, request: Callable[[], Awaitable[T]], wait_s: float | None) -> T:
        """Run it in the event loop that s3fs runs beside us. Raises `TimeoutError` after `wait_s` seconds."""
        import asyncio

        from fsspec.asyn import sync

        done: T = sync(self._files.loop, lambda: asyncio.wait_for(request(), wait_s))
        return done


class _Refused(BastionError):
    """The object does not meet the condition of a write."""


def _open_files(url: str, request_s: float) -> Any:
    try:
        from s3fs import S3FileSystem
    except ImportError as error:
        raise UsageError(f'{url} needs a package; run: pip install "bastion-scheduler[s3]"') from error
    from aiobotocore.session import AioSession
    from botocore.exceptions import BotoCoreError

    limits = {"connect_timeout": min(request_s, 10.0), "read_timeout": request_s}
    once = {"retries": {"total_max_attempts": 1}, "max_pool_connections": _CONNECTIONS}
    try:
        session = AioSession()
        session.register_component("data_loader", _loader())
        how = {"skip_instance_cache": True, "use_listings_cache": False, "config_kwargs": limits | once}
        files = S3FileSystem(session=session, **how)
        files.connect()
    except (BotoCoreError, ValueError) as error:
        raise UsageError(f"{url}: {error}; check the settings of AWS") from error
    return files


@cache
def _loader() -> Any:
    """Return the reader of the descriptions of AWS's services: one for all buckets, because these are long."""
    from aiobotocore.session import AioSession

    return AioSession().get_component("data_loader")


def _version(answer: Any) -> str:
    """Return the ETag, without its quotes."""
    return str(answer["ETag"]).strip('"')


def _of_one_object(wrong: Any) -> Exception:
    """Turn the error of one object in a bulk delete into the error of a delete of that object alone."""
    from botocore.exceptions import ClientError

    status = 403 if wrong.get("Code") == "AccessDenied" else 500
    said: Exception = ClientError({"Error": wrong, "ResponseMetadata": {"HTTPStatusCode": status}}, "DeleteObjects")
    return said


def _code(error: BaseException) -> str:
    """Return the error code of S3, a word; empty if there is none."""
    said = getattr(error, "response", None)
    return str(said.get("Error", {}).get("Code", "")) if isinstance(said, dict) else ""


def _status(error: BaseException) -> int:
    """Return the HTTP status of an error; 0 if there is none."""
    said = getattr(error, "response", None)
    return int(said.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)) if isinstance(said, dict) else 0


def _is_transient(error: BaseException) -> bool:
    """Return True if a retry may help."""
    from aiohttp import ClientError as BrokenConnection
    from botocore import exceptions as boto

    broken = (boto.HTTPClientError, boto.ConnectionError, boto.ResponseStreamingError, boto.FlexibleChecksumError)
    if isinstance(error, (*broken, BrokenConnection, ConnectionError, TimeoutError)):
        return True
    return is_passing(_status(error)) or _code(error) in ("RequestTimeout", "SlowDown", "Throttling")


def _failure(error: Exception, what: str) -> BastionError:
    from botocore import exceptions as boto

    said = getattr(error, "response", None)
    told = (said.get("Error", {}).get("Message") if isinstance(said, dict) else None) or str(error)
    text, status = " ".join(str(told).split())[:400], _status(error)
    if status == 404:
        return ObjectNotFound(f"{what}: there is no such object")
    if status == 412:
        return _Refused(f"{what}: its version has changed")
    if _code(error) in ("ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch") or status == 401:
        return AccessDenied(f"{what}: {text}; renew your credentials: aws configure, or aws sso login")
    if status == 403:
        return AccessDenied(f"{what}: {text}; ask the bucket's owner for this right")
    if isinstance(error, (boto.NoCredentialsError, boto.PartialCredentialsError, boto.SSOError)):
        return AccessDenied(f"{what}: {text}; run: aws configure, or aws sso login")
    return BucketError(f"{what}: {text or type(error).__name__}; try again when the store answers")
