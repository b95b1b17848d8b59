"""Keys: which ones a bucket takes, and where they lie in a folder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bastion.model.errors import BastionError
from bastion.stores.keys import ASIDE, PRIVATE, check_key, check_prefix, is_key, part_of, path_of

_ends = st.sampled_from(["", "%object", "%part", "%private", "%object%part", "%part%object"])
_words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="/"), max_size=20)
_parts = st.builds(str.__add__, _words, _ends).filter(lambda part: part not in ("", ".", ".."))
_keys = st.lists(_parts, min_size=1, max_size=5).map("/".join)


@given(_keys)
def test_every_valid_key_has_a_path_that_tells_the_key_again(key: str) -> None:
    check_key(key)
    names = path_of(key).split(b"/")
    assert [part_of(name) for name in names] == [(part, False) for part in key.split("/")]
    assert [part_of(name + ASIDE) for name in names] == [(part, True) for part in key.split("/")]


@given(st.binary(max_size=12) | st.builds(lambda word, end: (word + end).encode(), _words, _ends))
def test_a_name_on_the_disk_means_one_thing_or_nothing(name: bytes) -> None:
    found = part_of(name)
    if found is not None and is_key(found[0]):
        assert name == path_of(found[0]) + (ASIDE if found[1] else b"")


def test_plain_keys_lie_where_one_looks_for_them() -> None:
    assert path_of("a/b c/100%.json") == b"a/b c/100%.json"


def test_no_key_reaches_the_private_folder() -> None:
    assert part_of(PRIVATE) is None
    assert path_of(f"{PRIVATE.decode()}/lock") != PRIVATE + b"/lock"


@given(_keys, st.integers(min_value=0))
def test_every_beginning_of_a_key_is_a_prefix(key: str, length: int) -> None:
    check_prefix(key[: length % (len(key) + 1)])


@given(st.text(max_size=8) | _keys)
def test_a_text_is_a_key_or_is_refused_in_one_line(text: str) -> None:
    if is_key(text):
        check_key(text)
    else:
        with pytest.raises(BastionError) as told:
            check_key(text)
        assert len(str(told.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("a/../b", "key is 'a/../b'; no part between slashes may be empty, '.' or '..'"),
        ("a\nb", r"key is 'a\nb'; leave out control characters"),
        ("é" * 500, f"key is '{'é' * 100}'; use at most 900 bytes, this has 1000"),
        ("a/" + "b" * 300, f"key is 'a/{'b' * 98}'; use at most 240 bytes between slashes, this has 300"),
    ],
)
def test_a_refusal_says_what_is_wrong(key: str, said: str) -> None:
    with pytest.raises(BastionError) as told:
        check_key(key)
    assert str(told.value) == said
