"""Use against share as a bar of characters: what is one's own, borrowed, idle, and not one's own. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from bastion.schedule.usage import Use


@dataclass(frozen=True, slots=True)
class Bar:
    """Lengths in characters, from the left: used of the share, used beyond it, share that is idle, what others have."""

    own: int
    borrowed: int
    idle: int
    rest: int


def bar(use: Use, there_is: int, width: int) -> Bar:
    """The bar of a project's use, `width` characters for all that there is, or for what is used if that is more.

    What is used is never rounded to nothing, and nothing else takes its room.
    """
    whole = max(there_is, use.used, use.share, 1)
    used = _cells(use.used, whole, width)
    borrowed = min(used, _cells(use.borrowed, whole, width))
    idle = min(width - used, _cells(max(0, use.share - use.used), whole, width))
    return Bar(used - borrowed, borrowed, idle, width - used - idle)


def _cells(amount: int, whole: int, width: int) -> int:
    return min(width, max(1, round(amount * width / whole))) if amount > 0 else 0
