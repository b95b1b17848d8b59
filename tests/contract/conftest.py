"""The shared suites are no test modules: their assertions, too, are to say what they saw."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("bastion_testing", "tests.contract.fault_contract")
