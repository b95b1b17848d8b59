"""What is said of GPUs, in words."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from bastion.model.codec import decode, encode
from bastion.model.stored.gpu_facts import GPUS_MAX, WORDS_MAX, XIDS_MAX, Gpu, Xid, blame, line
from bastion.model.stored.records import RECORD_BYTES_MAX, Facts

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GPU = Gpu(
    index="3", name="NVIDIA H200", memory_used_mib=1, memory_total_mib=2, utilization_percent=0, temperature_c=30,
    power_w=70, ecc_corrected=4, ecc_uncorrected=0, rows="ok", xids=[],
)  # fmt: skip


def test_a_line_leaves_out_what_is_not_offered_and_shows_what_is_zero() -> None:
    assert line(GPU) == (
        "gpu 3  NVIDIA H200  memory 1 of 2 MiB  use 0%  30 C  70 W  ECC errors 4 corrected, 0 uncorrected  no XID"
    )
    assert line(Gpu(index="3")) == "gpu 3"
    assert line(Gpu(index="3", name="T4", ecc_uncorrected=1)) == "gpu 3  T4  ECC errors 1 uncorrected"


def test_a_line_names_what_is_wrong() -> None:
    broken = msgspec.structs.replace(
        GPU, rows="failed", xids=[Xid(code=79, at=NOW), Xid(code=999, at=NOW)], problem="no"
    )
    assert line(broken).endswith("row remapping failed  XID 79 (the GPU has fallen off the bus), XID 999  no")


def test_blame_is_what_broke_since_the_first_look() -> None:
    before = msgspec.structs.replace(GPU, ecc_uncorrected=5)
    after = msgspec.structs.replace(GPU, ecc_uncorrected=7, xids=[Xid(code=48, at=NOW)])
    assert blame([before], [after]) == "GPU 3: XID 48 (double-bit ECC error), uncorrected ECC errors: 2"
    assert blame([after], [msgspec.structs.replace(after, xids=[])]) == ""
    assert blame([GPU], [msgspec.structs.replace(GPU, problem="lost")]) == "GPU 3: lost"


def test_what_was_wrong_before_or_is_not_known_to_be_new_is_not_blamed() -> None:
    odd = Gpu(index="3", ecc_uncorrected=5, problem="lost")
    assert blame([odd], [odd]) == ""
    assert blame([], [Gpu(index="3", ecc_uncorrected=5)]) == ""
    assert blame([Gpu(index="3", ecc_uncorrected=5)], [Gpu(index="3")]) == ""


def test_the_facts_of_the_largest_worker_can_be_read_back() -> None:
    words, xids = "x" * WORDS_MAX, [Xid(code=2**63, at=NOW)] * XIDS_MAX
    gpus = [
        msgspec.structs.replace(GPU, index=str(n), name=words, problem=words, xids=xids, memory_used_mib=2**63)
        for n in range(GPUS_MAX)
    ]
    facts = Facts(phase="running", machine="m" * 500, message="\x01" * 2048, gpus=gpus)
    assert len(encode(facts)) <= RECORD_BYTES_MAX
    assert decode(encode(facts), Facts, "facts") == facts
