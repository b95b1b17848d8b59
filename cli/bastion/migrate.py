"""`bastion migrate`: convert files of other schedulers."""

from __future__ import annotations

import json
from pathlib import Path

from bastion.launcher.submit.from_axlearn import converted
from bastion.model.errors import SpecError
from bastion.model.job.spec import SPEC_BYTES_MAX

from ..terminal.flags import Options
from ..terminal.main import DONE, Call


def run(call: Call[Options]) -> int:
    """Print AXLearn's job spec as one for `launch --spec`.

    Raises `SpecError` with everything that has no equivalent.
    """
    _, name = call.words
    with Path(name).open("rb") as file:
        data = file.read(SPEC_BYTES_MAX + 1)
    try:
        fields, left = converted(data)
    except SpecError as error:
        raise SpecError(f"{name}: {error}") from error
    call.output.say(json.dumps(fields, ensure_ascii=False, indent=2))
    for line in left:
        call.output.note(line)
    return DONE
