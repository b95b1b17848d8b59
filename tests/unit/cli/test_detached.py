"""The output of a bastion in the background: all of the newest lines are there, and its file does not grow for ever."""

from __future__ import annotations

import io
import logging
import os
from pathlib import Path

from bastion.cli.bastion.parts.background import BackgroundOutput, leads_to


def test_the_file_makes_way_for_a_new_one_and_no_line_is_lost_between_the_two(tmp_path: Path) -> None:
    file = tmp_path / "demo.log"
    with file.open("a") as stream:
        output = BackgroundOutput(stream, file, bytes_max=1_000, ways=(stream.fileno(),))
        for number in range(250):
            output.emit(logging.LogRecord("bastion", logging.INFO, "", 0, f"line {number:03}", (), None))
        os.write(stream.fileno(), b"Traceback\n")  # what does not go through the log, as the words of a crash
    before = tmp_path / "demo.log.1"
    lines = before.read_text().splitlines() + file.read_text().splitlines()
    assert lines[-1] == "Traceback"
    assert lines[:-1] == [f"line {number:03}" for number in range(250 - len(lines) + 1, 250)]
    assert len(before.read_bytes()) <= 1_010
    assert len(file.read_bytes()) <= 1_010
    assert sorted(tmp_path.iterdir()) == [file, before]


def test_only_who_writes_into_that_file_keeps_it_short(tmp_path: Path) -> None:
    file, other = tmp_path / "demo.log", tmp_path / "other.log"
    with other.open("a") as elsewhere:
        assert not leads_to(elsewhere, file)
        file.touch()
        assert not leads_to(elsewhere, file)
    with file.open("a") as stream:
        assert leads_to(stream, file)
    assert not leads_to(io.StringIO(), file)
