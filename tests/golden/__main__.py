"""`python -m tests.golden`: record how this version writes, or again how it does while it is being made."""

from __future__ import annotations

import json
import shutil

import msgspec

from bastion.model.version import VERSION
from tests.golden.forms import forms
from tests.golden.meaning import FORMS, HERE, MEANING, fresh, keep, meaning
from tests.golden.story import tell


def main() -> None:
    """Only the folder of this version is written: those before it are released, and stay as they are."""
    folder, bucket = HERE / VERSION, fresh()
    shutil.rmtree(folder, ignore_errors=True)
    tell(bucket)
    keep(bucket, folder)
    for name, told in ((FORMS, msgspec.to_builtins(forms())), (MEANING, meaning(bucket))):
        (folder / name).write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
