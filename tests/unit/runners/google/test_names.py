"""Names and labels of what an attempt has: they tell whose it is, and the zones to ask next."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from bastion.model.interfaces import AttemptKey
from bastion.runners.google.machines import zones
from bastion.runners.google.machines.names import GoogleHost, GoogleLabels, host_of, labels, mark_of, name

JOBS = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?-[0-9a-f]{8}", fullmatch=True)
KEYS = st.builds(AttemptKey, JOBS, st.integers(0, 99_999), st.integers(0, 9_999))
SCOPES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}-[0-9a-f]{8}", fullmatch=True)
MARKS = st.builds(
    GoogleLabels,
    scope=SCOPES,
    key=KEYS,
    epoch=st.integers(0, 10**6),
    nonce=st.from_regex("[0-9a-f]{32}", fullmatch=True),
)


@given(MARKS)
def test_labels_give_back_what_they_were_made_of_and_are_as_google_wants_them(mark: GoogleLabels) -> None:
    made = labels(mark)
    assert mark_of(made) == mark
    assert all(re.fullmatch("[a-z][a-z0-9_-]{0,62}", key) for key in made)
    assert all(re.fullmatch("[a-z0-9_-]{0,63}", value) for value in made.values())


@given(SCOPES, KEYS, KEYS)
def test_a_name_is_one_attempts_and_no_others(scope: str, one: AttemptKey, other: AttemptKey) -> None:
    assert re.fullmatch("[a-z]([a-z0-9-]{0,38}[a-z0-9])?", name(scope, one))
    assert (name(scope, one) == name(scope, other)) == (one == other)
    assert name(scope, one) != name(scope + "x", one)


@given(
    st.dictionaries(
        st.sampled_from(["bastion", "job", "job-2", "task", "attempt", "epoch", "nonce"]), st.text(max_size=40)
    )
)
def test_labels_that_others_made_are_nobodys_or_a_marks(found: dict[str, str]) -> None:
    mark = mark_of(found)
    assert mark is None or mark_of(labels(mark)) == mark


def test_a_machines_id_names_its_host_and_nothing_else_is_one() -> None:
    host = GoogleHost(zone="us-central2-b", name="train-abc", nonce="0" * 32, host=3)
    assert host_of(str(host)) == host
    assert [host_of(bad) for bad in ("", "a/b", f"{host}/1", f"{host}x", "z/n/short/0", "m-1")] == [None] * 6


def test_a_zone_that_refuses_is_left_alone_ever_longer_and_forgiven_when_it_gives() -> None:
    shuts: zones.Shuts = {}
    waits = []
    now = 0.0
    for _ in range(8):
        shuts = zones.refused(shuts, "a", "v4-8", "a: none", now)
        waits.append(shuts["a", "v4-8"].until - now)
        assert zones.open_zones(["a", "b"], shuts, "v4-8", now) == ["b"]
        assert zones.open_zones(["a", "b"], shuts, "v4-16", now) == ["a", "b"]
        now += waits[-1]
        assert zones.open_zones(["a", "b"], shuts, "v4-8", now) == ["a", "b"]
    assert waits == [60, 120, 240, 480, 960, 1800, 1800, 1800]
    assert zones.said(["a", "b"], shuts, "v4-8") == "a: none"
    assert zones.gave(shuts, "a", "v4-8") == {}
