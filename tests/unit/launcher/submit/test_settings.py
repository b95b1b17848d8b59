"""Profiles are read strictly, and every value of a call comes from the strongest that says it."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.launcher.submit.profiles import FILE_BYTES_MAX, Profile, Setting, checked_name, parse, setting, settings
from bastion.model.errors import BastionError, UsageError

WORK = Profile("work", {"bucket": "gs://work", "bastion": "team", "project_id": "nlp"})
NONE = Profile()


def flags(**said: str) -> dict[str, Any]:
    return {"bucket": None, "bastion": None, "profile": None, **said}


def test_what_stands_on_the_command_line_wins_then_the_environment_then_the_profile() -> None:
    environ = {"BASTION_BUCKET": "gs://environ"}

    def found(environ: dict[str, str], **said: str) -> Setting | None:
        return setting("bucket", flags(**said), environ, lambda: WORK)

    assert found(environ, bucket="gs://flag", profile="work") == Setting("gs://flag", "--bucket")
    assert found(environ, profile="work") == Setting("gs://work", "profile work")
    assert found(environ) == Setting("gs://environ", "BASTION_BUCKET")
    assert found({}) == Setting("gs://work", "profile work")
    assert found({"BASTION_BUCKET": ""}) == Setting("gs://work", "profile work")


def test_every_setting_has_a_variable_of_its_own() -> None:
    environ = {"BASTION_NAME": "n", "BASTION_BUCKET": "b", "BASTION_PROJECT": "p", "BASTION_USER": "u"}
    values = [setting(key, flags(), environ, lambda: NONE) for key in ("bastion", "bucket", "project_id", "user_id")]
    assert [each.value for each in values if each] == ["n", "b", "p", "u"]


def test_a_profile_is_not_even_looked_at_where_all_is_said() -> None:
    def broken() -> Profile:
        raise BastionError("the file is broken")

    assert settings(flags(bucket="gs://b", bastion="n"), {}, broken).bucket == "gs://b"
    assert settings(flags(bucket="gs://b"), {"BASTION_NAME": "n"}, broken).bastion == "n"
    with pytest.raises(BastionError, match="the file is broken"):
        settings(flags(bucket="gs://b"), {}, broken)


def test_what_nobody_says_is_asked_for() -> None:
    with pytest.raises(UsageError, match=r"no bucket is named; use --bucket=URL .* or make a profile"):
        settings(flags(bastion="n"), {}, lambda: NONE)
    with pytest.raises(UsageError, match="profile home names no bucket; complete it with bastion config add home"):
        settings(flags(), {}, lambda: Profile("home", {"bastion": "n"}))


def test_all_that_nobody_says_is_asked_for_at_once() -> None:
    uses = "use --bastion=NAME or set BASTION_NAME, and --bucket=URL (file:///path, gs://name) or set BASTION_BUCKET"
    add = "bastion config add"
    with pytest.raises(UsageError) as nowhere:
        settings(flags(), {}, lambda: NONE)
    assert str(nowhere.value) == f"no bastion and no bucket is named; {uses}, or make a profile with {add}"
    with pytest.raises(UsageError) as half:
        settings(flags(), {}, lambda: Profile("home", {}))
    assert str(half.value) == f"profile home names no bastion and no bucket; complete it with {add} home, or {uses}"


def test_a_profile_that_names_nothing_is_answered_with_the_nearest() -> None:
    profiles = parse('active = "work"\n[profiles.work]\nbucket = "gs://b"\n', "/p.toml")
    assert profiles.get("work", "x").values == {"bucket": "gs://b"}
    with pytest.raises(BastionError, match=r"BASTION_PROFILE names the profile 'wrok', which /p.toml does not have"):
        profiles.get("wrok", "BASTION_PROFILE")
    with pytest.raises(BastionError, match=r"did you mean work\?"):
        profiles.get("wrok", "BASTION_PROFILE")
    with pytest.raises(BastionError, match="make one with bastion config add"):
        parse("", "/p.toml").get("work", "active")


def test_every_complaint_names_its_line_and_the_nearest_key() -> None:
    text = (
        'actve = "work"\n\n[profiles.work]\n# mine\nbuckt = "gs://b"\nproject = "nlp"\nuser_id = 7\n[profiles."a b"]\n'
    )
    with pytest.raises(BastionError) as caught:
        parse(text, "/p.toml")
    assert str(caught.value).split("; /p.toml:") == [
        "/p.toml:1: 'actve' is not a key of the file of profiles; did you mean active?",
        "5: 'buckt' is not a key of a profile; did you mean bucket?",
        "6: 'project' is not a key of a profile; did you mean project_id?",
        "7: user_id is 7; use a text in quotes",
        "8: a profile is named 'a b'; use 1 to 63 letters, digits, '_' and '-'",
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("active = \n", "/p.toml:1: not TOML: "),
        ('\nactive = "a"\nactive = "b"\n', "/p.toml:3: not TOML: "),
        ("x = " + "[" * 5000, "/p.toml:1: not TOML: "),
        ("\nactive = 0x" + "f" * 5000, "/p.toml:2: not TOML: a whole number needs more than 64 bits"),
        ("active = 7", "/p.toml:1: active is 7; use the name of a profile"),
        ("profiles = 7", "/p.toml:1: profiles is 7; use a table"),
        ("[profiles]\nwork = 7", "/p.toml:2: work is 7; use a table"),
        ('[profiles.w]\nbucket = "a\\u001bb"', "/p.toml:2: bucket is 'a\\x1bb'; use a text in quotes"),
        ('[profiles.w]\n"\\n" = true', "/p.toml:1: '\\n' is not a key of a profile"),
        ('[profiles]\n"\\n" = true', "/p.toml:1: a profile is named '\\n'; use 1 to 63"),
        ("#" * (FILE_BYTES_MAX + 1), f"/p.toml is longer than {FILE_BYTES_MAX}"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(BastionError) as caught:
        parse(text, "/p.toml")
    assert complaint in str(caught.value)
    assert str(caught.value).isprintable(), "one line"


@pytest.mark.parametrize("name", ["", "a b", "a.b", "a\n", "a" * 64, "ä"])
def test_a_profile_has_a_name_that_a_shell_can_complete(name: str) -> None:
    with pytest.raises(BastionError, match="use 1 to 63 letters"):
        checked_name(name)
