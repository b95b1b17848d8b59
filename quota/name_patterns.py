"""Patterns of user names that always match in a short time. Pure.

Python's regular expressions backtrack: `(a+)+` or forty times `(aa|aa)` takes years on a short name. So each pattern is
read once with a small grammar of our own, which counts the most ways in which the pattern could match. A pattern with
more than `WAYS_MAX` ways, which take about a millisecond, is refused. The grammar has characters, escapes, classes,
groups, `|` and the quantifiers of one character. It refuses all else (a repeated group, look-around, flags, back
references) and names it. So matching stays case-sensitive, and patterns can be joined safely.
"""

from __future__ import annotations

import re

LENGTH_MAX = 200
NAME_MAX = 64  # the longest user name of a job spec: no repetition matches more often
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
    """Return True for a plain name: only letters, digits, '.', '_', '@' and '-'. Its dots match only dots."""
    return PLAIN.fullmatch(name) is not None


def complaint(pattern: str) -> str | None:
    """Return the fault of a pattern, as the end of a sentence; None if the pattern may be used."""
    if not 0 < len(pattern) <= LENGTH_MAX:
        return f"has {len(pattern)} characters; use 1 to {LENGTH_MAX}"
    try:
        ways = _ways(pattern)
        re.compile(pattern)
    except (ValueError, re.error) as error:
        return f"is not a valid pattern of names: {error}"
    if ways > WAYS_MAX:
        return "could take very long to match: use at most three of '*', '+' and '?', or list the names"
    return None


def _ways(pattern: str) -> int:
    """Return an upper bound on the paths through a pattern for a name of `NAME_MAX` characters.

    Raises `ValueError`, which names what the grammar refuses.
    """
    outer: list[tuple[int, int]] = []  # for each open group: the sum and the product around it
    branches, product, last = 0, 1, 0  # ways of finished alternatives, this one, the last atom (0: nothing to repeat)
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
    """Return the product after a quantifier on the last atom. `product` already contains the atom."""
    if not last:
        raise ValueError(f"{times!r} repeats nothing")
    if group and times[0] != "?":
        raise ValueError(f"a group is repeated by {times!r}; only '?' may follow a group")
    return product // last * (last + 1) if group else product * _choices(times)


def _choices(times: str) -> int:
    """Return how many lengths a quantifier allows in a name of `NAME_MAX` characters."""
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
