"""Instance types name what one replica holds."""

from __future__ import annotations

import pytest

from bastion.errors import SpecError
from launcher.instances import resources


@pytest.mark.parametrize(
    ("instance_type", "expected"),
    [
        ("tpu-v4-32", {"v4": 32}),
        ("tpu-v5litepod-16", {"v5litepod": 16}),
        ("tpu-v5p-8", {"v5p": 8}),
        ("tpu-v6e-256", {"v6e": 256}),
        ("tpu-7x-128", {"7x": 128}),
        ("gpu-h100-8", {"h100": 8}),
    ],
)
def test_a_type_is_a_kind_and_a_number(instance_type: str, expected: dict[str, int]) -> None:
    assert resources(instance_type) == expected


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ("tpu-v5e-16", "did you mean tpu-v5litepod-16?"),
        ("tpu-v4", "did you mean tpu-v4-8?"),
        ("TPU-V4-32", "did you mean tpu-v4-32?"),
        ("gpu-h10-8", "did you mean gpu-h100-8?"),
        ("gpu-v4-8", "did you mean"),
        ("tpu-v4-0", "did you mean"),
        ("n2-standard-4", "use tpu-KIND-N"),
        ("", "use tpu-KIND-N"),
        ("tpu-v4-9999999", "did you mean"),
    ],
)
def test_an_unknown_type_is_answered_with_the_nearest(wrong: str, advice: str) -> None:
    with pytest.raises(SpecError) as error:
        resources(wrong)

    assert advice in str(error.value)
