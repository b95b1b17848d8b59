"""What looks like a secret in a spec is warned of, without its value; what does not, is not."""

from __future__ import annotations

import pytest

from bastion.launcher.submit.credentials import warnings
from bastion.model.errors import SpecError
from bastion.model.job.spec import JobSpec, new_jobspec

PLAIN = {"name": "train", "user": "ada", "project": "nlp", "command": ["true"]}


def spec(**fields: object) -> JobSpec:
    return new_jobspec(**{**PLAIN, **fields})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X", "hf_" + "a" * 34),
        ("X", "ghp_" + "A1" * 18),
        ("X", "AKIA" + "Q" * 16),
        ("X", "sk-" + "a1" * 20),
        ("X", "-----BEGIN RSA PRIVATE KEY-----\nMII"),
        ("DB", "postgres://ada:pa55@db/x"),
        ("HF_TOKEN", "anything-at-all"),
        ("WANDB_API_KEY", "0123456789abcdef" * 2),
        ("my_password", "hunter2"),
        ("AWS_SECRET_ACCESS_KEY", "abc/def"),
        ("SECRET", "xyzzy!"),
    ],
)
def test_a_secret_in_plain_is_warned_of(name: str, value: str) -> None:
    (text,) = warnings(spec(env={name: value}))
    assert text.startswith(f"env {name} looks like a secret")
    assert f"--env {name}=secret:NAME" in text
    assert value not in text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOKENIZERS_PARALLELISM", "false"),
        ("MAX_TOKENS", "4096"),
        ("PAD_TOKEN", "0"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/etc/key.json"),
        ("TOKEN", ""),
        ("HF_TOKEN", "secret:HF_TOKEN"),
        ("DATA", "gs://bucket/data"),
        ("SECRET", "https://vault/path"),
        ("RUN", "task-sk-x"),
    ],
)
def test_what_is_none_is_left_alone(name: str, value: str) -> None:
    assert list(warnings(spec(env={name: value}))) == []


def test_commands_setups_and_values_in_the_place_of_names() -> None:
    token = "hf_" + "a" * 34
    said = list(
        warnings(spec(command=["train", f"--token={token}"], setup=f"login {token}", env={"T": f"secret:{token}"}))
    )
    assert [text.split(" looks ")[0].split(" holds ")[0] for text in said] == ["env T", "the command", "the setup"]
    assert token not in "".join(said)


@pytest.mark.parametrize("name", ["", "a/b", "../x", "a..b", ".hidden", "x" * 129, "a b", "projects/p/secrets/", "a\n"])
def test_a_reference_needs_a_name_and_is_not_repeated(name: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec(env={"TOKEN": f"secret:{name}"})
    assert "env 'TOKEN' is secret: without a valid name" in str(caught.value)
    assert not name or name not in str(caught.value)


@pytest.mark.parametrize("name", ["HF_TOKEN", "a", "db.prod-1", "_x_"])
def test_names_of_secrets(name: str) -> None:
    assert spec(env={"TOKEN": f"secret:{name}"}).env["TOKEN"] == f"secret:{name}"
