"""Names of secrets: of those that a machine keeps, and of those that Google keeps."""

from __future__ import annotations

import pytest

from bastion.model.job.secret_ref import fault, is_googles, wanted


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN",
        "a",
        "projects/acme-ml/secrets/HF_TOKEN",
        "projects/acme.com:ml/secrets/t/versions/latest",
        "projects/123456789/secrets/T-1/versions/12",
    ],
)
def test_a_name(name: str) -> None:
    assert fault(f"secret:{name}") is None
    assert is_googles(name) == name.startswith("projects/")
    assert wanted({"A": f"secret:{name}", "B": "plain"}) == {"A": name}


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a/b",
        "../x",
        "projects/p/secrets/..",
        "projects/../secrets/s",
        "projects/p/secrets/s/",
        "projects/p/secrets/s/versions/",
        "projects/p/secrets/s/versions/1:destroy",
        "projects/p/secrets/s?alt=media",
        "projects/p/secrets/s%2F",
        "projects/P Q/secrets/s",
        "projects/p/locations/l/secrets/s",
        "projects/p/secrets/" + "s" * 256,
        "projects/p/secrets/s\n",
    ],
)
def test_no_name(name: str) -> None:
    said = fault(f"secret:{name}")
    assert said is not None
    assert "secret:projects/PROJECT/secrets/NAME" in said
    assert not name or len(name) < 4 or name not in said
