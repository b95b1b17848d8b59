"""Patterns of user names that cannot be made to run for ever. Pure.

Python's regular expressions backtrack: `(a+)+` or forty times `(aa|aa)` takes years on a short name. A pattern is
therefore read once with a small grammar of our own that counts in how many ways it could match at most, and is
refused beyond `WAYS_MAX`, which is about a millisecond. The grammar knows characters, escapes, classes, groups,
`|` and the quantifiers of one character; what it does not know (a repeated group, look-around, flags, back
references) is refused by name. So matching stays case-sensitive, and patterns can be joined safely.
"""

from __future__ import annotations

import re

LENGTH_MAX = 200
NAME_MAX = 64  # the longest user name of a job spec: no repetition takes more turns
WAYS_MAX = NAME_MAX**3

PLAIN = re.compile(r"[A-Za-z0-9._@-]+")
_TOKEN = re.compile(
    r"""(?P<open>\((?:\?:)?(?!\?)) | (?P<close>\)) | (?P<bar>\|)
      | (?P<times>[*+?]\??|\{[0-9]*,?[0-9]*\}\??)
      | (?P<one>\\[^1-9AZbB]|\[\^?\]?(?:\\.|[^\]\\])*\]|[^\\\[(){])""",
    re.VERBOSE | re.DOTALL,
)
_BOUNDS = re.compile(r"\{([0-9]*)(,?)([0-9]*)\}")


def is_plain(name: str) -> bool:
    """True for a name that stands for itself: only letters, digits, '.', '_', '@' and '-'. Its dots are dots."""
    return PLAIN.fullmatch(name) is not None


def complaint(pattern: str) -> str | None:
    """What is wrong with a pattern, as the end of a sentence; None if it may be used."""
    if not 0 < len(pattern) <= LENGTH_MAX:
        return f"has {len(pattern)} characters; use 1 to {LENGTH_MAX}"
    try:
        ways = _ways(pattern)
        re.compile(pattern)
    except (ValueError, re.error) as error:
        return f"is no pattern for names: {error}"
    if ways > WAYS_MAX:
        return "could take very long to match: use at most three of '*', '+' and '?', or list the names"
    return None


def _ways(pattern: str) -> int:
    """An upper bound on the paths through a pattern on a longest name. `ValueError` says what the grammar refuses."""
    outer: list[tuple[int, int]] = []  # for each open group: the sum and product around it
    branches, product, last = 0, 1, 0  # finished alternatives; this one's; the last atom's (0: nothing to repeat)
    group = False
    for kind, text in _tokens(pattern):
        if kind == "times":
            product = _repeated(product, last, text, group)
            last = 0
        elif kind == "open":
            outer.append((branches, product))
            branches, product, last = 0, 1, 0
        elif kind == "close":
            if not outer:
                raise ValueError("a ')' closes nothing")
            last = branches + product
            branches, product = outer.pop()
            product, group = product * last, True
        elif kind == "bar":
            branches, product, last = branches + product, 1, 0
        else:
            last, group = 1, False
    if outer:
        raise ValueError("a '(' is not closed")
    return branches + product


def _tokens(pattern: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    while at < len(pattern):
        match = _TOKEN.match(pattern, at)
        if match is None or match.lastgroup is None:
            raise ValueError(f"{pattern[at : at + 4]!r} is not understood here")
        tokens.append((match.lastgroup, match.group()))
        at = match.end()
    return tokens


def _repeated(product: int, last: int, times: str, group: bool) -> int:
    """The product after a quantifier on the last atom, which it already contains."""
    if not last:
        raise ValueError(f"{times!r} repeats nothing")
    if group and times[0] != "?":
        raise ValueError(f"a group is repeated by {times!r}; only '?' may follow a group")
    return product // last * (last + 1) if group else product * _choices(times)


def _choices(times: str) -> int:
    """How many lengths a quantifier allows."""
    if times[0] == "?":
        return 2
    bounds = _BOUNDS.match(times)
    if bounds is None:
        return NAME_MAX
    low, comma, high = bounds.groups()
    if not comma:
        return 1
    top = min(int(high), NAME_MAX) if high else NAME_MAX
    return max(1, top - min(int(low or "0"), NAME_MAX) + 1)
