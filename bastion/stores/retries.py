"""Asking a store over the network: the one place that says what is asked again, how often and for how long."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

AGAIN = (408, 409, 429)
"""HTTP statuses besides 5xx that are no answers: too slow, a collision of writers, too many requests."""

T = TypeVar("T")


def ask(request: Callable[[], T], transient: Callable[[BaseException], bool], limit_s: float) -> T:
    """The answer to a request, asked again after `transient` failures, ever more slowly, for `limit_s` seconds.

    Raises the last failure. An answer may have been lost: a write that is asked again may be refused by its own first try.
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
    """True for an HTTP status that asking again may change."""
    return status in AGAIN or status >= 500
