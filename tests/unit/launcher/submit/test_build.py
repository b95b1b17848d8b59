"""The fields that a user gave become a spec in which nothing is left open."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.launcher.submit.build import amounts, build, choices, command, gpu_hint, listed
from bastion.model.errors import SpecError, UsageError
from bastion.model.job.alternatives import Alternative
from bastion.model.job.spec import BundleRef, JobSpec, Provenance
from bastion.model.stored.gpu_facts import is_accelerator, is_gpu
from bastion.quota.quota import Quota
from bastion.quota.quota_file import parse

QUOTA = parse("""
[toml-schema]
version = "1"
[total_resources]
v4 = 8
[project_membership]
nlp = ["alice", "bob"]
vision = ["bob"]
""")
FIELDS: dict[str, Any] = {"user": "alice", "command": ["train"]}


def built(
    *, quota: Quota = QUOTA, capacity: dict[str, int] | None = None, gpus: int | None = None, **fields: Any
) -> JobSpec:
    return build(
        {**FIELDS, **fields},
        gpus=gpus,
        quota=quota,
        capacity={"v4": 8, "cpu": 4} if capacity is None else capacity,
        request_id="0123456789abcdef",
        home="gs://b/shared",
        bundle=BundleRef(),
        provenance=Provenance(),
    )


def test_what_is_not_said_is_filled_in() -> None:
    spec = built()

    assert spec.name == "alice-abcdef"
    assert spec.project == "nlp"
    assert spec.resources == {"cpu": 1}
    assert spec.output_dir == "gs://b/shared/outputs/alice-abcdef-01234567/0"
    assert spec.checkpoint_dir == f"{spec.output_dir}/checkpoints"


def test_an_own_output_folder_holds_the_checkpoints_too() -> None:
    spec = built(output_dir="/data/run7/")

    assert (spec.output_dir, spec.checkpoint_dir) == ("/data/run7", "/data/run7/checkpoints")


def test_the_tasks_of_an_array_get_their_folders_from_their_workers() -> None:
    spec = built(count=3)

    assert (spec.output_dir, spec.checkpoint_dir) == ("", "")


def test_the_tasks_of_an_array_have_their_checkpoints_in_their_own_folders_whoever_named_them() -> None:
    spec = built(count=3, output_dir="/data/run7")

    assert (spec.output_dir, spec.checkpoint_dir) == ("/data/run7", "")


def test_a_user_of_several_projects_is_asked_which() -> None:
    with pytest.raises(SpecError, match="bob is a member of nlp, vision; choose one with --project_id"):
        built(user="bob")


def test_a_user_of_no_project_is_told_whom_to_ask() -> None:
    with pytest.raises(SpecError, match="eve is a member of no project; ask for a line in project_membership"):
        built(user="eve")


def test_without_a_quota_file_everybody_has_the_default_project() -> None:
    assert built(quota=Quota.open(), user="eve").project == "default"


def test_a_user_with_odd_characters_still_has_a_default_name() -> None:
    assert built(quota=Quota.open(), user="a.b@c+d_e").name == "a.b-c-d-e-abcdef"


def test_an_instance_type_gives_its_resources_and_more_can_be_asked_for() -> None:
    assert built(instance_type="tpu-v4-8", resources={"cpu": 2}).resources == {"v4": 8, "cpu": 2}


def test_a_kind_that_the_instance_type_gives_is_not_asked_for_again() -> None:
    with pytest.raises(SpecError, match="--resources names v4, which --instance_type=tpu-v4-8 gives"):
        built(instance_type="tpu-v4-8", resources={"v4": 2})


def test_a_pool_without_cpu_has_no_default_resources() -> None:
    with pytest.raises(SpecError, match="use --resources=KIND=N with a kind of a100, v4"):
        built(capacity={"v4": 8, "a100": 2})


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(SpecError) as error:
        built(name="a/../b", priority=9, replicas=0, env={"RANK": "1"})

    assert all(field in str(error.value) for field in ("name", "priority", "replicas", "env sets RANK"))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["python", "a b.py"], ["python", "a b.py"]),
        (["train"], ["train"]),
        (["echo hi > x; ls"], "echo hi > x; ls"),
        (["a\tb"], "a\tb"),
        (["$(x)"], ["$(x)"]),
        (["", "a b"], ["", "a b"]),
    ],
)
def test_one_word_with_white_space_is_for_the_shell(words: list[str], expected: list[str] | str) -> None:
    assert command(words) == expected


def test_amounts_are_read_from_one_text_or_several() -> None:
    assert amounts(["v4=4,cpu=2", "memory=1"], "--resources") == {"v4": 4, "cpu": 2, "memory": 1}
    assert amounts(["v4=-1"], "--resources") == {"v4": -1}, "the spec's own check names the field"


@pytest.mark.parametrize("text", ["", "v4", "v4=", "=4", "v4=1.5", "v4=x", "v4=1,,", "v4=1,v4=2", "v4=" + "9" * 40])
def test_amounts_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(SpecError, match="--resources"):
        amounts([text], "--resources")


def test_several_shapes_are_listed_by_type_or_by_amounts() -> None:
    first, second = choices("tpu-v4-32, tpu-v5p-32", listed(["memory=64"]), 2)
    spec = built(instance_type=first.instance_type, resources=first.resources, replicas=2, alternatives=[second])
    assert [(each.instance_type, each.resources, each.replicas) for each in spec.choices] == [
        ("tpu-v4-32", {"v4": 32, "memory": 64}, 2),
        ("tpu-v5p-32", {"v5p": 32, "memory": 64}, 2),
    ]
    rows = choices("", listed(["v4=4,cpu=1/v5p=2", "cpu=3"]), 1)
    assert [each.resources for each in rows] == [{"v4": 4, "cpu": 1}, {"v5p": 2, "cpu": 3}]
    assert choices("", listed([]), 1) == [Alternative()]


@pytest.mark.parametrize(
    ("types", "texts", "wrong"),
    [
        ("tpu-v4-32,", [], "use TYPE,TYPE without gaps"),
        ("tpu-v4-32,tpu-v5p-32", ["cpu=1/cpu=2"], "both list choices"),
        ("", ["v4=4/"], "use KIND=N"),
    ],
)
def test_a_list_of_shapes_that_makes_no_sense_is_refused(types: str, texts: list[str], wrong: str) -> None:
    with pytest.raises(SpecError, match=wrong):
        choices(types, listed(texts), 1)


def test_an_alternative_says_an_amount_once() -> None:
    with pytest.raises(SpecError, match="asks for v5p beside tpu-v5p-32"):
        built(alternatives=[Alternative(instance_type="tpu-v5p-32", resources={"v5p": 8})])
    (same,) = built(alternatives=[Alternative(instance_type="tpu-v5p-32", resources={"v5p": 32})]).alternatives
    assert same.resources == {"v5p": 32}
    with pytest.raises(SpecError, match="did you mean tpu-v5p-32"):
        built(alternatives=[Alternative(instance_type="tpu-v5p-33")])


@pytest.mark.parametrize(
    ("words", "again"),
    [
        (
            ["python3", "-c", "'import jax; print(jax.devices())'"],
            "python3 -c 'import jax; print(jax.devices())'",
        ),
        (["python", "-c", '"print(1)"'], "python -c 'print(1)'"),
        (["bash", "-c", "'a;b'"], "bash -c 'a;b'"),
        (["'echo hello there'"], "'echo hello there'"),
        (["grep", "'a b'", "'c d'"], "grep 'a b' 'c d'"),
    ],
)
def test_a_word_that_still_has_its_quotes_is_answered_with_the_right_line(words: list[str], again: str) -> None:
    with pytest.raises(UsageError) as refused:
        command(words)
    assert str(refused.value).endswith(
        f"launch passes words on as they are, so write: {again} (--literal passes the word as it is)"
    )
    assert command(words, literal=True) == (words[0] if len(words) == 1 else words)


@pytest.mark.parametrize(
    "words",
    [["echo", "'"], ["echo", "''"], ["echo", "'a'"], ["echo", "'a b"], ["python", "-c", "'a' + ' b'"], ["'x y' 'z'"]],
)
def test_quotes_that_do_not_hold_a_whole_text_are_the_users(words: list[str]) -> None:
    assert command(words) in (words, words[0])


def test_a_long_word_with_its_quotes_is_shown_in_part() -> None:
    with pytest.raises(UsageError, match="leave one pair of quotes out") as refused:
        command(["python", "-c", f"'{'x ' * 10_000}'"])
    assert len(str(refused.value)) < 600


# GPUs by their common word


@pytest.mark.parametrize(
    ("pool", "found"),
    [
        ({"gpu": 4, "cpu": 8}, {"gpu": 2}),
        ({"h100": 8, "cpu": 8, "v4": 8}, {"h100": 2}),
        ({"rtx4090": 4, "a100": 0}, {"rtx4090": 2}),
    ],
)
def test_gpus_are_of_the_one_kind_that_the_fleet_has(pool: dict[str, int], found: dict[str, int]) -> None:
    assert built(gpus=2, capacity=pool).resources == found
    assert built(gpus=2, capacity={**pool, "cpu": 8}, resources={"cpu": 3}).resources == {"cpu": 3, **found}


@pytest.mark.parametrize(
    ("wish", "pool", "complaint"),
    [
        ({"gpus": 2}, {"h100": 8, "a100": 4}, "several kinds; choose one: --resources=a100=2, --resources=h100=2"),
        ({"gpus": 1}, {"cpu": 8, "v4": 8}, "this fleet has no GPUs; it has cpu=8,v4=8"),
        ({"gpus": 1}, {}, "are not known yet; use --resources=KIND=N"),
        ({"gpus": -1}, {"gpu": 8}, "--gpus is -1; use 0 or more"),
        ({"gpus": 1, "resources": {"h100": 1}}, {"h100": 8}, "--gpus and h100 both say which GPUs"),
        ({"gpus": 1, "instance_type": "gpu-h100-8"}, {"h100": 8}, "--gpus and gpu-h100-8 both say which GPUs"),
    ],
)
def test_gpus_that_are_not_clear_are_refused(wish: dict[str, Any], pool: dict[str, int], complaint: str) -> None:
    with pytest.raises(SpecError, match=complaint):
        built(capacity=pool, **wish)


@pytest.mark.parametrize(
    ("wish", "pool", "hint"),
    [
        ({}, {"gpu": 4, "cpu": 8}, "no GPU asked for; add --gpus=1"),
        ({}, {"h100": 8, "a100": 4, "cpu": 8}, "no GPU asked for; add --resources=a100=1, or another of a100, h100"),
        ({"resources": {"h100": 1}}, {"h100": 8}, ""),
        ({"resources": {"v4": 1}}, {"h100": 8, "v4": 8}, ""),
        ({}, {"cpu": 8, "v4": 8}, ""),
        ({}, {}, ""),
    ],
)
def test_a_job_without_a_gpu_on_a_fleet_that_has_some_is_told(
    wish: dict[str, Any], pool: dict[str, int], hint: str
) -> None:
    assert gpu_hint(built(capacity=pool, **wish), pool) == hint


@pytest.mark.parametrize(
    ("kind", "gpu", "accelerator"),
    [
        *((kind, True, True) for kind in "gpu h100 a100 l40s t4 v100 rtx4090 gtx1080 b200 mi300x gh200".split()),
        *((kind, False, True) for kind in ("v2", "v4", "v5e", "v5p", "v5litepod", "v6e", "7x", "tpu")),
        *((kind, False, False) for kind in ("cpu", "memory", "disk", "licence", "a", "slots")),
    ],
)  # fmt: skip
def test_accelerators_are_known_by_their_names(kind: str, gpu: bool, accelerator: bool) -> None:
    assert (is_gpu(kind), is_accelerator(kind)) == (gpu, accelerator)
