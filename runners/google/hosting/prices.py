"""What a bastion in Google's cloud costs in a month, by list prices: the line that is shown before it is created. Pure."""

from __future__ import annotations

MONTH_S = 730 * 3600
VM_HOUR = {"e2-micro": 0.008376, "e2-small": 0.016751, "e2-medium": 0.033503, "e2-standard-2": 0.067006}
DISK_GB_MONTH = 0.04
LIST_EACH = 0.005 / 1000
STORED_GB_MONTH = 0.02
"""US dollars in us-central1 in 2025; other regions are up to half as much again."""


def line(machine_type: str, disk_gb: int, poll_s: float) -> str:
    """The cost of a VM of this type, its disk, and a listing of the inbox every `poll_s` seconds."""
    disk = disk_gb * DISK_GB_MONTH
    polls = MONTH_S / poll_s * LIST_EACH
    parts = [f"disk {disk:.2f}", f"{86_400 / poll_s:,.0f} polls a day {polls:.2f}"]
    if (hour := VM_HOUR.get(machine_type)) is None:
        parts.insert(0, f"VM {machine_type} not known here")
        return f"about US$ {disk + polls:.0f} a month and the VM: {', '.join(parts)}; and {_stored()}"
    vm = hour * MONTH_S / 3600
    parts.insert(0, f"VM {machine_type} {vm:.2f}")
    return f"about US$ {vm + disk + polls:.0f} a month: {', '.join(parts)}; and {_stored()}"


def _stored() -> str:
    return f"{STORED_GB_MONTH:.2f} for each GB in the bucket (list prices of us-central1, 2025)"
