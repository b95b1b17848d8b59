"""The promises of every bucket to a single client. Each check is a sentence, and works on an empty store.

The promises to many clients at once are in `races`; `suite` has all of them together.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256

from ...model.errors import BastionError, BucketError, TooLarge
from ...model.interfaces import Bucket
from .bench import BrokenPromise, TestStore, keys, missing, same, true

ODD_KEYS = (
    "a b/c d",
    "quotes'\"`$(x)",
    "ümlaut/日本/😀",
    "50%25%2F%",
    "a#b?c=d&e;f+g*[h]{i}|\\",
    "~/-rf",
    ".hidden/..dots/...",
    "draft.tmp",
    "x%object",
    "x%part/y%object%part",
    "%private/lock",
    "CON/nul",
    "p" * 240,
    "/".join(["é" * 120] * 3 + ["k" * 177]),
    "/".join(["d"] * 450),
)
_BAD_PARTS = ("", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a\nb", "a\x00", "\x7f", "\ud800")
BAD_KEYS = (*_BAD_PARTS, "k" * 901, "p" * 241, "é" * 121)
BAD_PREFIXES = ("/", "../", "a/../b", "a//", "a\n", "\ud800", "k" * 901)
NEVER_VERSIONS = ("", "0", "-1", "1", "no version", "9" * 30)


def created_is_read_back(stage: TestStore) -> None:
    """What was created is read back with its version."""
    bucket = stage.open()
    version = bucket.create("a/b.json", b"one")
    true(version, "create gave no version")
    stored = bucket.read("a/b.json")
    same((stored.data, stored.version), (b"one", version), "what was read")


def create_refuses_a_taken_key(stage: TestStore) -> None:
    """Create refuses a taken key and changes nothing."""
    bucket = stage.open()
    version = bucket.create("a", b"one")
    same([bucket.create("a", b"two"), bucket.create("a", b"one")], [None, None], "two more creates of one key")
    stored = bucket.read("a")
    same((stored.data, stored.version), (b"one", version), "what is there after them")


def others_see_it_at_once(stage: TestStore) -> None:
    """The other opener of a store sees a write at once."""
    one, two = stage.open(), stage.open()
    one.write("a", b"1")
    same(two.read("a").data, b"1", "what another opener reads")
    same(two.create("a", b"2"), None, "its create of that key")


def replace_wants_the_version_that_is_there(stage: TestStore) -> None:
    """Replace wants the version that is there."""
    bucket = stage.open()
    first = bucket.write("a", b"1")
    second = bucket.replace("a", b"2", first)
    true(second and second != first, "replace of the right version gave no new one")
    same(bucket.replace("a", b"3", first), None, "a replace of an old version")
    stored = bucket.read("a")
    same((stored.data, stored.version), (b"2", second), "what is there after it")


def replace_refuses_versions_that_never_were(stage: TestStore) -> None:
    """Replace with a version that never was is refused."""
    bucket = stage.open()
    for version in NEVER_VERSIONS:
        same(bucket.replace("a", b"1", version), None, f"a replace of nothing, version {version!r}")
        bucket.write("b", b"1")
        same(bucket.replace("b", b"2", version), None, f"a replace of version {version!r}")
    missing(bucket, "a")
    same(bucket.read("b").data, b"1", "what is there after them")


def replace_refuses_a_deleted_object(stage: TestStore) -> None:
    """Replace of a deleted object is refused, also once the same bytes are there again."""
    bucket = stage.open()
    version = bucket.write("a", b"1")
    bucket.delete(["a"])
    same(bucket.replace("a", b"2", version), None, "a replace of what was deleted")
    bucket.create("a", b"1")
    same(bucket.replace("a", b"2", version), None, "a replace of what was deleted and created again")
    same(bucket.read("a").data, b"1", "what is there after it")


def write_overwrites(stage: TestStore) -> None:
    """Write overwrites whatever is there."""
    bucket = stage.open()
    bucket.create("a", b"a long first text")
    version = bucket.write("a", b"2")
    stored = bucket.read("a")
    same((stored.data, stored.version), (b"2", version), "what is read")


def each_write_has_a_new_version(stage: TestStore) -> None:
    """Each write of the same bytes gives a new version."""
    bucket = stage.open()
    versions = [bucket.write("a", b"same") for _ in range(stage.scale.rewrites)]
    same(len(set(versions)), len(versions), "different versions")


def each_create_has_a_new_version(stage: TestStore) -> None:
    """Each create after a delete gives a new version."""
    bucket = stage.open()
    versions = []
    for _ in range(stage.scale.rewrites):
        versions.append(bucket.create("a", b"same"))
        bucket.delete(["a"])
    same(len(set(versions) - {None}), len(versions), "different versions")


def missing_is_an_answer(stage: TestStore) -> None:
    """A missing object is missing, and not a failure."""
    bucket = stage.open()
    bucket.write("there/too", b"")
    for key in ("nowhere", "there", "there/too/deep", "p" * 240):
        missing(bucket, key)


def delete_minds_nothing_else(stage: TestStore) -> None:
    """Delete removes what is there and minds nothing else."""
    bucket = stage.open()
    for number in range(50):
        bucket.write(f"d/{number:02}", b"")
    bucket.delete(f"d/{number:02}" for number in range(60) if number != 7)
    bucket.delete(["d", "d/08/x", "d/08"])
    bucket.delete([])
    same(keys(bucket), ["d/07"], "what is left")


def a_listing_is_in_order(stage: TestStore) -> None:
    """A listing shows key, version and size, in the order of UTF-8."""
    bucket = stage.open()
    names = ["a", "a b", "a!/x", "a-b", "a.txt", "a/b", "a/b/c", "a0", "b", "ü", "\uff5e", "😀"]
    versions = {key: bucket.write(key, key.encode()) for key in reversed(names)}
    stats = list(bucket.list(""))
    same([stat.key for stat in stats], sorted(names, key=str.encode), "the keys")
    same({stat.key: stat.version for stat in stats}, versions, "their versions")
    same([stat.size for stat in stats], [len(stat.key.encode()) for stat in stats], "their sizes")
    true(all(stat.modified.tzinfo for stat in stats), "a time of modification has no time zone")


def prefix_and_after_give_the_keys_between(stage: TestStore) -> None:
    """Every prefix and `after` give exactly the keys between."""
    bucket = stage.open()
    names = ["a", "a/b", "a/b/c", "a/bc", "a0", "ab/c", "b.x/y", "b/x", "b/y/z", "bb"]
    for key in names:
        bucket.write(key, b"")
    prefixes = ["", "a", "a/", "a/b", "a/b/", "ab", "b", "b/", "b/y/z", "c", "nowhere/", "a/b/c/d/"]
    afters = ["", "a", "a/", "a/b", "a/b0", "a/z", "b", "b/x", "b/y", "zzz", "a\uffff"]
    for prefix, after in itertools.product(prefixes, afters):
        want = [key for key in sorted(names) if key.startswith(prefix) and key > after]
        same(keys(bucket, prefix, after), want, f"the keys with prefix {prefix!r} after {after!r}")


def an_empty_bucket_lists_nothing(stage: TestStore) -> None:
    """An empty bucket lists nothing."""
    same(keys(stage.open()), [], "what is listed")


def an_object_and_a_folder_may_share_a_name(stage: TestStore) -> None:
    """An object and a folder may have one name."""
    bucket = stage.open()
    for order in itertools.permutations(("a", "a/b", "a/b/c")):
        _share(bucket, order)
        bucket.delete(order)


def _share(bucket: Bucket, order: tuple[str, ...]) -> None:
    versions = {key: bucket.create(key, key.encode()) for key in order}
    same([bucket.create(key, b"again") for key in order], [None] * 3, "a second create")
    same({stat.key: stat.version for stat in bucket.list("")}, versions, "what is listed")
    for key in order:
        same(bucket.read(key).data, key.encode(), f"what is read of {key!r}")
        true(bucket.replace(key, b"new", str(versions[key])), f"replace of {key!r} was refused")
        bucket.delete([key])
        true(bucket.create(key, b"back"), f"create of {key!r} after its delete was refused")
        bucket.write(key, b"last")
    same([bucket.read(key).data for key in order], [b"last"] * 3, "what is read at last")
    bucket.delete(order[:2])
    same(keys(bucket, "a"), [order[2]], "what is listed of the one that is left")
    same(bucket.create(order[2], b""), None, "a create of it")


def odd_keys_work(stage: TestStore) -> None:
    """Odd keys work: blanks, quotes, percent signs, 900 bytes, names that systems reserve."""
    bucket = stage.open()
    for key in ODD_KEYS:
        version = bucket.create(key, b"1")
        same(bucket.create(key, b"2"), None, f"a second create of {key!r}")
        same((keys(bucket), keys(bucket, key)), ([key], [key]), f"what is listed with {key!r}")
        true(bucket.replace(key, b"3", str(version)), f"replace of {key!r} was refused")
        same(bucket.read(key).data, b"3", f"what is read of {key!r}")
        bucket.delete([key])
        same(keys(bucket), [], f"what is listed after the delete of {key!r}")


def bad_keys_are_refused(stage: TestStore) -> None:
    """Bad keys are refused by every method, before the store is asked."""
    bucket = stage.open()
    for key in BAD_KEYS:
        calls: list[Callable[[], object]] = [
            partial(bucket.read, key),
            partial(bucket.create, key, b""),
            partial(bucket.write, key, b""),
            partial(bucket.replace, key, b"", "1"),
            partial(bucket.delete, [key]),
        ]
        for call in calls:
            _refused(call, "key is", key)
    for prefix in BAD_PREFIXES:
        _refused(partial(bucket.list, prefix), "prefix is", prefix)
    same(keys(bucket), [], "what is listed after them")


def _refused(call: Callable[[], object], words: str, name: str) -> None:
    try:
        call()
    except BastionError as error:
        refused = words in str(error) and len(str(error).splitlines()) == 1
        true(refused and not isinstance(error, BucketError), f"{name[:20]!r} is answered with: {error}")
        return
    raise BrokenPromise(f"{name[:20]!r} is not refused")


def one_bad_key_deletes_nothing(stage: TestStore) -> None:
    """One bad key among those to delete deletes nothing."""
    bucket = stage.open()
    bucket.write("a", b"")
    _refused(partial(bucket.delete, ["a", "../a"]), "key is", "../a")
    same(bucket.read("a").data, b"", "what is there after it")


def no_bytes_are_an_object(stage: TestStore) -> None:
    """An object of no bytes is an object."""
    bucket = stage.open()
    true(bucket.create("empty", b""), "create was refused")
    same(bucket.create("empty", b""), None, "a second create")
    same((bucket.read("empty").data, [stat.size for stat in bucket.list("")]), (b"", [0]), "what is there")


def a_read_minds_its_limit(stage: TestStore) -> None:
    """A read minds its limit: what is larger is refused, and nothing else."""
    bucket = stage.open()
    for size in (0, 1, 1000):
        bucket.write("a", b"x" * size)
        same(len(bucket.read("a", size).data), size, f"bytes of a read of {size} with just this limit")
        if size:
            try:
                bucket.read("a", size - 1)
            except TooLarge:
                continue
            raise BrokenPromise(f"{size} bytes are read with a limit of {size - 1}")


def a_big_object_comes_back_whole(stage: TestStore) -> None:
    """A big object comes back whole."""
    bucket, mebibytes = stage.open(), stage.scale.big >> 20
    data = b"".join(sha256(b"%d" % block).digest() * 32768 for block in range(mebibytes))
    version = bucket.create("big", data)
    true(sha256(bucket.read("big").data).digest() == sha256(data).digest(), "other bytes came back")
    same([(s.size, s.version) for s in bucket.list("big")], [(len(data), version)], "what is listed")


def many_objects_are_listed_over_pages(stage: TestStore) -> None:
    """Many objects are listed over several pages, in order, from anywhere."""
    bucket, many = stage.open(), stage.scale.many
    names = [f"many/{number:04}" for number in range(many)]
    with ThreadPoolExecutor(4) as pool:
        true(all(pool.map(lambda key: bucket.create(key, b"x"), reversed(names))), "a create was refused")
    _same_keys(keys(bucket, "many/"), names)
    for start in (0, 998, 999, 1000, many // 2, many - 2, many - 1):
        _same_keys(keys(bucket, "many/", names[start]), names[start + 1 :])
    same(next(bucket.list("", after=names[many - 100])).key, names[many - 99], "the first one after another")


def _same_keys(got: Iterable[str], want: Iterable[str]) -> None:
    wrong = set(got) ^ set(want)
    true(list(got) == list(want), f"wrongly listed, or left out: {sorted(wrong)[:3]}, or not in order")
