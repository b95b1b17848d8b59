"""A byline goes with its text, and names nobody for a text that was changed by other means."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from bastion.model.job.audit_line import AuditLine, sign, split

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\n#= "))


@given(TEXTS)
def test_what_was_signed_is_found_again(text: str) -> None:
    body, byline = split(sign(text, "alice", NOON))
    assert byline == AuditLine("alice", "2026-01-31T12:00:00Z")
    assert body.removesuffix("\n") == text.removesuffix("\n")
    assert sign(sign(text, "bob", NOON), "alice", NOON) == sign(text, "alice", NOON)


def test_a_text_without_one_is_left_alone() -> None:
    assert split("") == ("", None)
    assert split("poll = 1") == ("poll = 1\n", None)
    assert split("# a\n\n") == ("# a\n\n", None)


def test_a_text_that_was_changed_since_names_nobody() -> None:
    signed = sign("poll = 1\n", "alice", NOON)
    assert split(signed.replace("1\n", "2\n", 1)) == ("poll = 2\n", None)


def test_it_is_a_comment_of_the_text() -> None:
    assert tomllib.loads(sign("poll = 1", "alice", NOON)) == {"poll": 1}


def test_a_name_that_no_user_can_have_is_not_written() -> None:
    assert sign("poll = 1\n", "a\nb = 2", NOON) == "poll = 1\n"
