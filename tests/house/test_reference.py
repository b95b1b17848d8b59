"""The reference is what the code says: pages that are made from it are committed as they come out."""

from __future__ import annotations

import pytest

from bastion.model.job.spec import JobSpec, KeptSpec
from bastion.model.settings.config import Config
from docs.tools import meanings
from docs.tools.reference import REFERENCE, pages, variables
from docs.tools.reference import meanings as meaning


@pytest.mark.parametrize("name", pages())
def test_a_page_that_is_made_is_committed_as_it_comes_out(name: str) -> None:
    assert (REFERENCE / name).read_text() == pages()[name], "run `make docs`"


def test_nothing_is_explained_that_is_not_there() -> None:
    assert meaning(KeptSpec, JobSpec).keys() == set(JobSpec.__struct_fields__)
    assert meanings.SPEC_PAGES.keys() <= set(JobSpec.__struct_fields__)
    assert set(meanings.CONFIG) == set(Config.__struct_fields__)
    assert set(meanings.ENVIRONMENT) == set(variables({}))
