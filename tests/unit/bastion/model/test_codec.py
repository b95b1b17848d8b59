"""What may be read is described before there are threads."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bastion.model.codec import Record, decode, numbered, readable

CROWD = """
import sys
from threading import Barrier, Thread
from bastion.model.stored.journal_object import JournalObject
from bastion.model.stored.requests import parse
from bastion.model.codec import decode
sys.setswitchinterval(1e-6)
start = Barrier(32)
def read():
    start.wait()
    decode(b'{"seq":0,"epoch":1,"nonce":"n","now":"2026-01-31T12:00:00Z","events":[]}', JournalObject, "it")
    parse(b'{"kind":"submit","spec":{"name":"a","user":"b","project":"c","command":"d","bundle":{},"provenance":{}}}')
threads = [Thread(target=read) for _ in range(32)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_a_kind_that_was_not_prepared_is_not_read() -> None:
    class Fresh(Record, frozen=True, kw_only=True):
        schema: int = numbered(1)

    with pytest.raises(KeyError):
        decode(b"{}", Fresh, "it")
    readable(Fresh)
    assert decode(b"{}", Fresh, "it") == Fresh()


def test_many_threads_read_for_the_first_time() -> None:
    """In a process of its own: it is the first time only once, and what went wrong was a crash of all."""
    said = subprocess.run([sys.executable, "-c", CROWD], capture_output=True, text=True)
    assert (said.returncode, said.stderr) == (0, "")
