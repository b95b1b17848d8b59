"""The shared suites are no test modules: their assertions, too, are to say what they saw."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.contract.runner_contract", "tests.contract.fault_contract")
