"""A bucket of Google Cloud Storage: `gs://bucket` or `gs://bucket/some/prefix`. An object's version is its generation.

google-cloud-storage is imported when a bucket is opened. Its own retries are switched off: only `retries` repeats a
request. It may do so after an answer that was lost, so our own first try may be the reason why a create or replace is
refused. A caller that needs to know reads back.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BytesIO
from typing import Any, TypeVar

from ..model.errors import AccessDenied, BastionError, BucketError, BucketNotFound, ObjectNotFound, TooLarge, UsageError
from ..model.interfaces import Stat, StoredObject
from .keys import PAGE, check_key, check_prefix, check_size, is_key
from .retries import ask, is_passing

_URL = re.compile(r"gs://([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])((?:/[^/]+)*)/?")
_LONGEST_PREFIX = 120
_CONNECTIONS = 32
_FIELDS = "items(name,generation,size,updated),nextPageToken"

T = TypeVar("T")


class GcsBucket:
    """A bucket, or all below a prefix of it, as a `Bucket`. Safe for threads. It follows `STORAGE_EMULATOR_HOST`.

    A request may be silent for `request_s` seconds. Transient failures are retried, with growing pauses, until
    `limit_s` seconds have passed since the first try. Raises `UsageError` for an invalid URL and `AccessDenied` if there are
    no credentials.
    """

    def __init__(self, url: str, *, limit_s: float = 60.0, request_s: float = 20.0) -> None:
        match = _URL.fullmatch(url)
        if match is None or len(match[2].encode()) > _LONGEST_PREFIX or not is_key(match[2][1:] or "-"):
            raise UsageError(f"bucket is {url!r}; use gs://bucket or gs://bucket/prefix (at most 120 bytes)")
        self._name, self._root = match[1], match[2][1:] + "/" if match[2] else ""
        self.url = f"gs://{self._name}/{self._root}".rstrip("/")
        self._limit_s = limit_s
        self._call: dict[str, Any] = {"timeout": request_s, "retry": None}
        self._client = _open_client(self.url)
        self._objects = self._client.bucket(self._name)
        self._found = False

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        """Return the whole object. Raises `ObjectNotFound`, `TooLarge`."""
        check_key(key)

        def request() -> StoredObject:
            blob, taken = self._blob(key), _Sink(key, limit)
            blob.download_to_file(taken, raw_download=True, **self._call)
            return StoredObject(taken.getvalue(), str(blob.generation))

        try:
            return self._ask("read", key, request)
        except ObjectNotFound:
            self._require_bucket()
            raise

    def create(self, key: str, data: bytes) -> str | None:
        """Write an object that must not exist yet. Return its version; None if the key is taken, maybe by our try."""
        try:
            return self._upload(key, data, 0)
        except _Refused:
            return None

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        """Write if the object still has this version. Return the new version; None if it has another or is gone."""
        check_key(key)
        if not re.fullmatch("[1-9][0-9]{0,18}", version):  # to Google, 0 means: if it does not exist
            return None
        try:
            return self._upload(key, data, int(version))
        except _Refused:
            return None

    def write(self, key: str, data: bytes) -> str:
        """Write, whatever is there. Return the new version."""
        return self._upload(key, data, None)

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects, many at a time. Missing ones are no error."""
        to_delete = tuple(keys)
        for key in to_delete:
            check_key(key)
        if to_delete:
            with ThreadPoolExecutor(min(len(to_delete), _CONNECTIONS)) as pool:
                any(pool.map(self._delete, to_delete))  # raises the first failure, and then begins no more

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        """List objects whose key begins with `prefix` and is greater than `after`, in order of their UTF-8 keys.

        It makes one request for each page of 1,000, when the page is needed. Names that are no keys (a console's
        folders) are left out.
        """
        check_prefix(prefix)
        return self._pages(prefix, after)

    def rules(self) -> Sequence[dict[str, Any]]:
        """Return the lifecycle rules of the whole bucket, in Google's format."""
        return self._ask("read the lifecycle rules of", self._name, lambda: [dict(rule) for rule in self._loaded()])

    def set_rules(self, rules: Sequence[dict[str, Any]]) -> None:
        """Replace all lifecycle rules of the bucket with these."""

        def request() -> None:
            self._objects.lifecycle_rules = list(rules)
            self._objects.patch(**self._call)

        self._ask("change the lifecycle rules of", self._name, request)

    def rights(self) -> tuple[Any, Any]:
        """Return the roles of all accounts in the whole bucket, and its guards, in Google's format.

        These are `bindings` and `iamConfiguration`.
        """

        def request() -> tuple[Any, Any]:
            policy = self._objects.get_iam_policy(requested_policy_version=3, **self._call)
            self._objects.reload(**self._call)
            return {"bindings": policy.bindings}, self._objects._properties.get("iamConfiguration")

        return self._ask("read the rights in", self._name, request)

    def held(self, rights: Sequence[str]) -> Sequence[str]:
        """Return those of these rights that we have in the whole bucket."""

        def request() -> Sequence[str]:
            return [str(right) for right in self._objects.test_iam_permissions(list(rights), **self._call)]

        return self._ask("test the rights in", self._name, request)

    def _loaded(self) -> Iterator[Any]:
        self._objects.reload(**self._call)
        rules: Iterator[Any] = self._objects.lifecycle_rules
        return rules

    def _pages(self, prefix: str, after: str) -> Iterator[Stat]:
        token: str | None = ""
        while token is not None:
            stats, token = self._page(prefix, after, token)
            yield from stats

    def _page(self, prefix: str, after: str, token: str) -> tuple[tuple[Stat, ...], str | None]:
        """Make one request. Return its objects, and where the next page begins (None: there is none)."""

        def request() -> tuple[tuple[Stat, ...], str | None]:
            pages = self._client.list_blobs(
                self._objects,
                prefix=self._root + prefix,
                start_offset=self._root + after if after else None,
                page_size=PAGE,
                page_token=token or None,
                fields=_FIELDS,
                **self._call,
            )
            stats = (self._stat(blob) for blob in next(pages.pages, ()))
            return tuple(stat for stat in stats if stat.key > after and is_key(stat.key)), pages.next_page_token

        try:
            page = self._ask("list", prefix, request)
        except ObjectNotFound:
            raise self._no_bucket() from None
        self._found = True
        return page

    def _stat(self, blob: Any) -> Stat:
        return Stat(blob.name.removeprefix(self._root), str(blob.generation), blob.size, blob.updated)

    def _delete(self, key: str) -> None:
        with suppress(ObjectNotFound):
            self._ask("delete", key, lambda: self._blob(key).delete(**self._call))

    def _upload(self, key: str, data: bytes, generation: int | None) -> str:
        """Write, and return the new version. Raises `_Refused` if the object's generation is another."""
        check_key(key)

        def request() -> str:
            blob, kind = self._blob(key), "application/octet-stream"
            blob.upload_from_string(data, content_type=kind, if_generation_match=generation, **self._call)
            return str(blob.generation)

        try:
            return self._ask("write", key, request)
        except ObjectNotFound:
            raise self._no_bucket() from None

    def _blob(self, key: str) -> Any:
        return self._objects.blob(self._root + key)

    def _require_bucket(self) -> None:
        """Raise `BucketNotFound` unless the bucket was ever listed: "not found" may be about the object or the bucket."""
        if not self._found:
            self._page("", "", "")

    def _no_bucket(self) -> BucketNotFound:
        advice = f"create it: gcloud storage buckets create gs://{self._name}"
        return BucketNotFound(f"{self.url}: there is no such bucket; {advice}")

    def _ask(self, verb: str, key: str, request: Callable[[], T]) -> T:
        """Make a request, and retry it while that may help.

        Raises `ObjectNotFound` for 404, `_Refused` for 412, `AccessDenied`, or `BucketError` when the time is over.
        """
        try:
            return ask(request, _is_transient, self._limit_s)
        except TooLarge:
            raise
        except Exception as error:
            raise _failure(error, f"{self.url}: cannot {verb} {key!r}") from error


class _Sink(BytesIO):
    """A buffer for a download, which it breaks off when that gets too large. What it holds was checked as a whole."""

    def __init__(self, key: str, limit: int | None) -> None:
        super().__init__()
        self._key, self._limit = key, limit

    def write(self, data: Any) -> int:
        check_size(self.tell() + len(data), self._key, self._limit)
        return super().write(data)


class _Refused(BastionError):
    """The object does not meet the condition of a write."""


def _open_client(url: str) -> Any:
    from google.auth.exceptions import GoogleAuthError
    from google.cloud import storage
    from requests.adapters import HTTPAdapter

    # Otherwise the library reads the bucket's metadata in a thread of its own, for traces that are not collected.
    os.environ.setdefault("DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true")
    try:
        client = storage.Client(project=None)
    except GoogleAuthError as error:
        raise AccessDenied(f"{url}: no Google credentials; run: gcloud auth application-default login") from error
    for scheme in ("https://", "http://"):
        client._http.mount(scheme, HTTPAdapter(pool_maxsize=_CONNECTIONS))
    return client


def _code(error: BaseException) -> int:
    """Return the HTTP status of an error of the library; 0 if it has none."""
    code = getattr(error, "code", 0)
    return int(code) if isinstance(code, int) else 0


def _is_transient(error: BaseException) -> bool:
    """Return True if a retry may help. 409 is a collision of writers, not an answer."""
    from google.auth.exceptions import GoogleAuthError, TransportError
    from google.cloud.storage.exceptions import DataCorruption
    from requests.exceptions import RequestException
    from urllib3.exceptions import HTTPError

    if isinstance(error, GoogleAuthError):
        return isinstance(error, TransportError) or bool(error.retryable)
    broken = isinstance(error, (RequestException, HTTPError, DataCorruption, ConnectionError, TimeoutError))
    return broken or is_passing(_code(error))


def _failure(error: Exception, what: str) -> BastionError:
    from google.auth.exceptions import GoogleAuthError

    said, code = " ".join(str(getattr(error, "message", None) or error).split())[:400], _code(error)
    if code == 404:
        return ObjectNotFound(f"{what}: there is no such object")
    if code == 412:
        return _Refused(f"{what}: its generation has changed")
    if code in (401, 403):
        return AccessDenied(f"{what}: {said}; ask the bucket's owner for this right")
    if isinstance(error, GoogleAuthError) and not _is_transient(error):
        return AccessDenied(f"{what}: {said}; run: gcloud auth application-default login")
    return BucketError(f"{what}: {said}; try again when the store answers")
