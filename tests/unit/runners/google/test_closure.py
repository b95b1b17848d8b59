"""What a program needs, by the imports of its text and by what distributions say of themselves; and how it is packed."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from bastion.runners.delivery.archive import packed
from bastion.runners.delivery.worker_dependencies import canonical, closure, providers, with_required

TEXTS = {
    "app": "",
    "app.main": "import os\nfrom app import tools\nfrom app.store import Store\n",
    "app.tools": "def f():\n    import heavy.part\n    from app import late\n",
    "app.late": "import app.main",
    "app.store": "import elsewhere\nfrom app import never_there",
    "app.unused": "import unwanted",
}


def test_what_is_imported_inside_functions_counts_and_circles_end() -> None:
    known, strange = closure(["app.main"], TEXTS.get)
    assert set(known) == {"app", "app.main", "app.tools", "app.late", "app.store"}
    assert {"os", "heavy.part", "elsewhere"} <= strange
    assert "unwanted" not in strange


def test_strangers_of_one_module_can_be_left_out_and_our_own_cannot() -> None:
    known, strange = closure(["app.main"], TEXTS.get, without={"app.store", "app.main"})
    assert "app.tools" in known
    assert "heavy.part" in strange
    assert not {"os", "elsewhere"} & strange


def test_a_module_is_found_in_its_distribution_also_in_a_shared_namespace() -> None:
    files = {
        "google-auth": ["google/auth/__init__.py", "google/auth/exceptions.py"],
        "google-cloud-storage": ["google/cloud/storage/__init__.py"],
        "fast": ["fast.cpython-311-x86_64-linux-gnu.so"],
        "other": ["other.py", "google_other/__init__.py"],
    }
    assert providers({"google.cloud.storage", "google.cloud"}, files) == {"google-cloud-storage"}
    assert providers({"google.auth.exceptions.Error", "google.auth.exceptions"}, files) == {"google-auth"}
    assert providers({"fast", "nowhere"}, files) == {"fast"}


def test_requirements_are_followed_but_not_those_of_extras() -> None:
    asked = {
        "a": ["B_x>=1,<2", "c ; python_version < '3.0'", "d[fast]>=1; extra == 'more'", "gone"],
        "b-x": ["a", "e (>=2)"],
        "c": [],
        "d": [],
        "e": [],
    }
    assert with_required(["a"], asked) == {"a", "b-x", "c", "e"}
    assert canonical("Some_Thing.Else") == "some-thing-else"


def test_equal_files_make_equal_bytes_whatever_their_order_and_times(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"data")
    one = packed({"lib/b": tmp_path / "file", "bin/a": b"#!"})
    (tmp_path / "file").touch()
    (tmp_path / "file").chmod(0o600)
    assert packed({"bin/a": b"#!", "lib/b": tmp_path / "file"}) == one
    with tarfile.open(fileobj=io.BytesIO(one)) as archive:
        assert [(m.name, m.mode, m.mtime, m.uid) for m in archive] == [("bin/a", 0o755, 0, 0), ("lib/b", 0o644, 0, 0)]
