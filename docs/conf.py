"""How Sphinx builds the site: `make docs`. Everything that it needs comes along; it asks no other host for anything."""

from __future__ import annotations

from importlib.metadata import version as installed
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

project = "Bastion"
project_copyright = "the authors of Bastion"
release = version = installed("bastion-scheduler")

extensions = ["myst_parser"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["demo", "tools"]
highlight_language = "text"
smartquotes = False  # two dashes are two dashes

html_theme = "furo"
html_title = "Bastion"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/bastion.svg"
html_logo = "static/bastion.svg"
html_show_sourcelink = False
html_copy_source = False


class SourceAsText(SphinxTransform):
    """Links out of the pages, to the source, lead somewhere in the repository only: on the site they are plain text."""

    default_priority = 5

    def apply(self, **kwargs: Any) -> None:
        """Replace each such link by its text."""
        for link in list(self.document.findall(pending_xref)) + list(self.document.findall(nodes.reference)):
            if _leads_out(self.env.docname, link.get("reftarget") or link.get("refuri") or ""):
                link.replace_self(link.children)


def _leads_out(page: str, target: str) -> bool:
    """Relative, and above the folder of the pages."""
    return "://" not in target and target.count("../") > page.count("/")


def setup(app: Sphinx) -> dict[str, bool]:
    """Have Sphinx use what is above."""
    app.add_transform(SourceAsText)
    return {"parallel_read_safe": True}
