"""`bastion replay`, as people and programs see it."""

from __future__ import annotations

import pytest

from bastion.model import layout
from bastion.model.errors import ObjectNotFound
from bastion.model.stored.events import Decided
from bastion.model.stored.journal_object import digest, unpack
from tests.support.bench import Bench
from tests.support.clients import Asked
from tests.support.world import World

ALL = ("replay", "--all")


@pytest.fixture
def town() -> Asked:
    """Two jobs of eight units each: one runs, one waits; then a pause; then more."""
    made = Asked()
    made.submits(name="first", resources={"v4": 8})
    made.ticks(2)
    made.submits(name="second", resources={"v4": 8})
    made.ticks(2)
    made.submits(name="third", resources={"cpu": 1})
    made.ticks(2)
    return made


def places(town: Asked) -> list[int]:
    """The journal objects that hold a decision."""
    keys = [stat.key for stat in town.bucket.inner.list(layout.JOURNAL)]
    found = [(layout.seq_of(key), unpack(town.bucket.inner.read(key).data, layout.seq_of(key))) for key in keys]
    return [seq for seq, record in found if any(isinstance(event, Decided) for event in record.events)]


def spoil(town: Asked, number: int, old: bytes, new: bytes) -> None:
    """Have a journal object hold other decisions, and the ones after it the digests that fit: as of another policy."""
    assert old in read(town, number)
    write(town, number, read(town, number).replace(old, new))


def write(town: Asked, number: int, data: bytes) -> None:
    """Put a journal object in the place of another one, and in the next one the digest of it, and so on."""
    before = digest(read(town, number))
    town.bucket.inner.write(layout.journal(number), data)
    after = read(town, number + 1)
    if before.encode() in after:
        write(town, number + 1, after.replace(before.encode(), digest(data).encode()))


def read(town: Asked, number: int) -> bytes:
    """The bytes of a journal object; none if there is none."""
    try:
        return town.bucket.inner.read(layout.journal(number)).data
    except ObjectNotFound:
        return b""


def test_all_decisions_come_out_equal(town: Asked) -> None:
    said = town.run("bastion", *ALL)

    assert (said.code, said.err) == (0, "")
    first, second = said.out.splitlines()
    assert first == (
        f"{len(places(town))} decisions of 2026-01-31T12:00:01.000Z to 2026-01-31T12:00:05.000Z: 2 starts, 0 stops"
    )
    assert second == f"{len(places(town))} of {len(places(town))} are equal, bit for bit"
    row = town.run("bastion", *ALL, "--json").json
    assert (row["decisions"], row["equal"], row["different"], row["starts"]) == (
        len(places(town)),
        len(places(town)),
        0,
        2,
    )
    assert (row["told"], row["others"], row["bastion"]) == ([], {"decisions": 0, "equal": 0}, {"name": "b"})


def test_one_decision_is_told_with_what_it_rested_on(town: Asked) -> None:
    at = places(town)[-1]

    page = town.run("bastion", "replay", f"--seq={at}").out.splitlines()

    [first, second] = [job for job in town.bastion.journal.state.jobs if not job.startswith("third")]
    assert page[0].startswith(f"decision  in journal object {at}, event ")
    assert page[0].endswith(" of 2026-01-31T12:00:05.000Z")
    assert page[1:3] == ["taken by  bastion/1, version 0.1.0", "replayed  equal, bit for bit"]
    assert page[3].startswith("inputs    policy default, capacity v4=8,cpu=8, config file of version ")
    assert page[4].startswith(f"waiting   default: alice/{second} v4=8, priority 5, since 2026-01-31T12:00:0")
    assert (
        f"holding   default: alice/{first} v4=8, task 0 attempt 0, STARTING on tier 0 since 2026-01-31T12:00:00.000Z"
        in page
    )
    assert page[-1].startswith("answer      third-")
    assert page[-1].endswith(" begins on local, tier 0")
    [told] = town.run("bastion", "replay", f"--seq={at}", "--json").json["told"]
    assert told["recorded"] == told["again"] != []
    assert (told["difference"], told["rested_on"]["files"]["config"]["text"]) == (
        None,
        'admins = ["root"]\npoll = 1.0\n',
    )


def test_the_last_decision_before_a_moment_is_found(town: Asked) -> None:
    town.ticks(3)
    [told] = town.run("bastion", "replay", "--at=2026-01-31T12:00:03.500Z", "--json").json["told"]
    assert (told["seq"], told["time"]) == (places(town)[-2], "2026-01-31T12:00:03.000Z")
    early = town.run("bastion", "replay", "--at=2026-01-31T11:00:00Z")
    assert early.code == 1
    assert early.err.startswith(
        "error: no decision is marked in the 1,024 journal objects before 2026-01-31T11:00:00.000Z"
    )


def test_a_window_is_from_one_moment_to_another(town: Asked) -> None:
    window = ("--since=2026-01-31T12:00:02Z", "--until=2026-01-31T12:00:04Z")
    row = town.run("bastion", "replay", *window, "--json").json
    assert (row["decisions"], row["first"], row["last"]) == (1, "2026-01-31T12:00:03.000Z", "2026-01-31T12:00:03.000Z")


def test_what_differs_is_told_in_full_and_is_a_failure(town: Asked) -> None:
    spoil(town, places(town)[-1], b'"tier":0', b'"tier":3')

    said = town.run("bastion", *ALL)

    assert said.code == 1
    page = said.out.splitlines()
    assert "replayed  the journal holds another answer than was decided" in page
    assert [line[10:12] for line in page if " begins on local" in line] == ["- ", "+ "]
    assert page[-1] == f"{len(places(town)) - 1} of {len(places(town))} are equal, bit for bit"
    row = town.run("bastion", *ALL, "--json").json
    assert (row["different"], row["told"][0]["difference"]) == (1, "record")
    assert (row["told"][0]["recorded"][0]["tier"], row["told"][0]["again"][0]["tier"]) == (3, 0)


def test_of_many_that_differ_the_first_are_told(town: Asked) -> None:
    for name in "abcdef":
        town.submits(name=name, resources={"cpu": 1})
        town.ticks()
    for number in places(town):
        spoil(town, number, b'"waiting":', b'"waiting":1')

    row = town.run("bastion", *ALL, "--json").json

    assert (row["different"], len(row["told"])) == (len(places(town)), 3)
    assert {told["difference"] for told in row["told"]} == {"inputs"}


def test_another_version_may_decide_otherwise(town: Asked) -> None:
    spoil(town, 0, b'"version":"0.1.0"', b'"version":"0.0.9"')
    spoil(town, places(town)[-1], b'"tier":0', b'"tier":3')

    said = town.run("bastion", *ALL)

    assert said.code == 0
    number = len(places(town))
    assert said.out.splitlines()[-2:] == [
        "0 of 0 are equal, bit for bit",
        f"{number} were taken by another version than 0.1.0, which may decide otherwise: {number - 1} of them are equal",
    ]


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["--at=1h", "--seq=2"], "--at and --seq exclude each other"),
        (["--all", "--since=1h"], "--since and --all exclude each other"),
        (["--seq=999"], "--seq is 999; the journal has the objects 0 to "),
        (["--seq=-1"], "--seq is -1; "),
        (["--at=then"], "--at is 'then'"),
    ],
)
def test_what_makes_no_sense_is_refused(town: Asked, words: list[str], wrong: str) -> None:
    said = town.run("bastion", "replay", *words)
    assert said.code == 2
    assert wrong in said.err


def test_what_cannot_be_read_proves_nothing(town: Asked) -> None:
    town.bucket.inner.delete([layout.journal(2)])

    said = town.run("bastion", *ALL)
    later = town.run("bastion", "replay", f"--seq={places(town)[-1]}")

    assert (said.code, later.code) == (1, 1)
    assert "journal object 2 is missing" in said.err
    assert later.err.startswith("error: the inputs of these decisions cannot be read: journal object 2 is missing")


def test_a_journal_without_marks_says_so(bench: Bench) -> None:
    World(bench.bucket).submitted()

    said = bench.bastion(*ALL)
    assert (said.code, said.out) == (0, "no decision is recorded in this window; older versions did not record them\n")
    one = bench.bastion("replay", "--seq=1")
    assert (one.code, one.err) == (1, "error: no decision is marked in journal object 1; see bastion replay --at\n")
