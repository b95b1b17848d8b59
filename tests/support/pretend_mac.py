"""`python -I pretend_mac.py TOOL [words]`: one of our tools as on macOS, as far as Linux can pretend.

What is not ours is loaded as it is. Then the platform's name changes, names that macOS lacks disappear from the
standard library, and whatever is Linux's alone can neither be imported nor opened. MISSING in the environment says
what disappears: a JSON object of names by module.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import Any

STRANGERS = ("absl.flags", "msgspec", "psutil", "zstandard", "pathspec", "concurrent.futures", "tenacity")
FORBIDDEN = (
    "bastion.runners.local",
    "bastion.runners.worker",
    "pynvml",
    "ctypes",
    "spwd",
    "bastion.runners.programs.worker",
)


def _is_forbidden(name: str) -> bool:
    return any(name == hidden or name.startswith(f"{hidden}.") for hidden in FORBIDDEN)


class NotHere:
    """Finds nothing of what macOS, or a client, does not have."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Refuse it here, before others find it."""
        if _is_forbidden(name):
            raise ModuleNotFoundError(f"{name} is not on a Mac")
        return None


def no_linux(event: str, args: tuple[Any, ...]) -> None:
    """An audit hook: there is no /proc and no /sys, but for psutil, which is Linux's here."""
    opens = event in ("open", "os.listdir", "os.scandir") and str(args[0]).startswith(("/proc", "/sys/"))
    if opens and "psutil" not in sys._getframe(1).f_globals.get("__name__", ""):
        raise FileNotFoundError(2, "no such file on a Mac", args[0])


def main() -> int:
    """Become a Mac, and run."""
    tool = sys.argv.pop(1)
    for name in STRANGERS:
        import_module(name)
    for name, missing in json.loads(os.environ["MISSING"]).items():
        module = import_module(name)
        for attribute in missing:
            if hasattr(module, attribute):
                delattr(module, attribute)
    tempfile._O_TMPFILE_WORKS = False  # it looked when it was loaded
    sys.platform = "darwin"
    sys.meta_path.insert(0, NotHere())  # type: ignore[arg-type]
    for name in [name for name in sys.modules if _is_forbidden(name)]:
        del sys.modules[name]
    sys.addaudithook(no_linux)
    if tool == "import":
        for name in sys.argv[1:]:
            import_module(name)
        return 0
    return int(getattr(import_module("bastion.__main__"), tool)())


if __name__ == "__main__":
    sys.exit(main())
