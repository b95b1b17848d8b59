"""Retry requests to a store over the network. Only this file decides what is retried, how often and for how long."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

AGAIN = (408, 409, 429)
"""HTTP statuses besides 5xx that are worth a retry: too slow, a collision of writers, too many requests."""

T = TypeVar("T")


def ask(request: Callable[[], T], transient: Callable[[BaseException], bool], limit_s: float) -> T:
    """Make a request, and retry it after `transient` failures, with growing pauses, for `limit_s` seconds.

    Raises the last failure. An answer may have been lost: a write that is retried may be refused because of its own
    first try.
    """
    from tenacity import Retrying, retry_if_exception, stop_before_delay, wait_random_exponential

    asking = Retrying(
        retry=retry_if_exception(transient),
        wait=wait_random_exponential(multiplier=0.2, max=8),
        stop=stop_before_delay(limit_s),
        reraise=True,
    )
    return asking(request)


def is_passing(status: int) -> bool:
    """Return True for an HTTP status that a retry may change."""
    return status in AGAIN or status >= 500
