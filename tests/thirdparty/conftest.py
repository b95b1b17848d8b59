"""The suite's assertions, too, are to say what they saw."""

import pytest

pytest.register_assert_rewrite("bastion.testing")
