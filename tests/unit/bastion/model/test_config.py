"""`config.toml`: what is written is what is read, and every mistake is said at once, in words that help."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bastion.model.errors import NewerVersion, RecordError
from bastion.model.settings.config import CONFIG_BYTES_MAX, Config, check, parse, render
from bastion.model.settings.tables import GitSettings

CONFIGS = st.builds(
    Config,
    poll=st.floats(0.05, 3600),
    reclaim_delay=st.floats(0, 86_400),
    gang_patience=st.floats(0, 31_536_000),
    restart_cost=st.floats(0, 86_400),
    usage_half_life=st.floats(0, 31_536_000),
    policy=st.sampled_from(["default", "axlearn"]),
    admins=st.lists(st.from_regex(r"[a-z]([a-z0-9@+-]{0,20}[a-z0-9])?", fullmatch=True), max_size=5),
    capacity=st.dictionaries(
        st.from_regex(r"[a-z0-9][a-z0-9._-]{0,20}", fullmatch=True), st.integers(0, 10**6), max_size=5
    ),
    git=st.builds(
        GitSettings,
        deploy_key=st.sampled_from(["", "/etc/a b/key"]),
        known_hosts=st.sampled_from(["", "/etc/known_hosts"]),
    ),
)


@given(CONFIGS)
def test_what_is_rendered_is_parsed_to_the_same(config: Config) -> None:
    assert check(config) == []
    assert parse(render(config)) == config


def test_an_empty_file_means_the_defaults() -> None:
    assert parse("") == Config()
    assert (Config().reclaim_delay, Config().policy, Config().runners) == (90.0, "default", ["local"])
    assert (Config().gang_patience, Config().restart_cost, Config().usage_half_life) == (36_000, 120, 604_800)


def test_whole_numbers_serve_as_seconds() -> None:
    assert parse("poll = 2").poll == 2.0


def test_all_complaints_come_in_one_message() -> None:
    text = 'poll = "fast"\nreclaim_dealy = 3\npolicy = "axlern"\nadmins = ["a b"]\n[capacity]\nv4 = -1\n'
    with pytest.raises(RecordError) as caught:
        parse(text)
    message = str(caught.value)
    assert "\n" not in message
    for part in (
        "poll is 'fast'; use a number of seconds",
        "'reclaim_dealy' is not a setting; did you mean reclaim_delay?",
        "policy is 'axlern'; did you mean axlearn?",
        "admins names the user 'a b'",
        "v4 is -1; use a whole number from 0",
    ):
        assert part in message


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("poll = 0", "poll is 0; use 0.05 to 3600 seconds"),
        ("poll = nan", "poll is nan; use 0.05 to 3600 seconds"),
        ("reclaim_delay = -1", "reclaim_delay is -1; use 0 to 86400 seconds"),
        ("gang_patience = -1", "gang_patience is -1; use 0 to 31536000 seconds"),
        ('restart_cost = "2m"', "restart_cost is '2m'; use a number of seconds"),
        ("usage_half_life = inf", "usage_half_life is inf; use 0 to 31536000 seconds"),
        ("poll = true", "poll is True; use a number of seconds"),
        ("schema = 0", "schema is 0; use 1"),
        ("capacity = 8", "capacity is 8; use a table of whole numbers"),
        ("[capacity]\nv4 = 1.5", "use a table of whole numbers"),
        ('[capacity]\n"a/b" = 1', "names the kind 'a/b'"),
        ('runners = ["Tpu"]', "runners has 'Tpu'; use the names of runners"),
        ("runners = [" + ", ".join(f'"r{n}"' for n in range(33)) + "]", "runners names 33 runners; at most 32"),
        ('placing = "tpu"', "placing is 'tpu'; use a table of runners"),
        ('[placing]\nv4 = "locla"', "placing sends v4 to 'locla'; did you mean local?"),
        ('[placing]\nv4 = "tpu"', "line 1: placing sends v4 to 'tpu'; use one of runners: local"),
        ('[placing]\nv4 = ["local", "locla"]', "placing sends v4 to 'locla'; did you mean local?"),
        ("[placing]\nv4 = []", "placing names 0 runners for 'v4'; use one, or 1 to 64 for the tiers"),
        ("[placing]\nv4 = [" + '"local",' * 65 + "]", "placing names 65 runners for 'v4'"),
        ("[placing]\nv4 = [1]", "use a table of runners"),
        (
            'policy = "axlearn"\nrunners = ["slurm", "gce"]\n[placing]\nv4 = ["slurm", "gce"]',
            "line 3: placing sends tiers of v4 to several runners, but policy axlearn needs one for all; use policy default",
        ),
        ('[placing]\n"v 4" = "local"', "placing has 'v 4'; use kinds and instance types"),
        ('[placing]\ntpu-v4-7 = "local"', "placing has 'tpu-v4-7': there is no tpu-v4-7; did you mean tpu-v4-8?"),
        ("[placing]\n" + "".join(f'k{n} = "local"\n' for n in range(257)), "placing has 257 rows; at most 256"),
        ('runner_options = "x"', "runner_options is 'x'; use a table of tables, one for each runner"),
        ("[runner_options]\nslurm = 1", "use a table of tables, one for each runner"),
        ("[runner_options.Slurm]", "runner_options has 'Slurm'; use the names of runners"),
        ("".join(f"[runner_options.r{n}]\n" for n in range(33)), "runner_options has 33 tables; at most 32"),
        ("[runner_options.a]\nb = 2026-01-01", "runner_options a.b is datetime.date(2026, 1, 1); use texts"),
        ("[runner_options.a]\nb.c = [[nan]]", "runner_options a.b.c is nan; use texts"),
        ("[runner_options.a]\n" + "b = " + "{ c = " * 17 + "1" + " }" * 17, "is more than 16 tables deep"),
        ("runners = []", "runners is empty"),
        ('google.zones = ["nowhere"]', "google zones has 'nowhere'; use zones, as in us-central2-b"),
        ('google.tiers = ["spott"]', "google tiers has 'spott'; did you mean spot?"),
        ('[git]\ndeploy_key = "key"', "git deploy_key is 'key'; use the absolute path"),
        ("[git]\ndeploykey = 1", "its keys are deploy_key and known_hosts"),
        ("poll = ", "config.toml is not TOML: "),
        ("a = " + "[" * 5000, "config.toml is not TOML: "),
        ("x = " + "9" * 5000, "config.toml is not TOML: "),
        ("\npoll = 0x" + "f" * 5000, "config.toml is not TOML: line 2: a whole number needs more than 64 bits"),
        ("#" * (CONFIG_BYTES_MAX + 1), f"config.toml is longer than {CONFIG_BYTES_MAX}"),
    ],
)
def test_a_wrong_file_is_refused_with_its_reason(text: str, complaint: str) -> None:
    with pytest.raises(RecordError) as caught:
        parse(text)
    assert complaint in str(caught.value)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(RecordError, match="not TOML"):
        parse(b"\xff\xfe")


def test_a_newer_file_asks_for_an_upgrade() -> None:
    with pytest.raises(NewerVersion, match="upgrade"):
        parse("schema = 2\nsomething_new = 1")


def test_lists_of_tables_come_back_as_they_went() -> None:
    options = {"kubernetes": {"pod": {"spec": {"volumes": [{"name": "data", "emptyDir": {}}]}}}}
    config = Config(runner_options=options)
    assert parse(render(config)) == config
