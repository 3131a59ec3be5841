"""How Sphinx builds the site: `make docs`."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "extensions")]

project = "Labelwood"
author = copyright = "The Labelwood authors"  # Sphinx calls it so
version = release = version_of("labelwood")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "reference"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["extensions", "static"]
nitpicky = True
# What signatures name that has no page of its own: types of numpy and scipy, and our own aliases.
nitpick_ignore_regex = [(r"py:.*", r".*")]
# Headings of other pages may be linked to, as on other sites that show Markdown.
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]

default_role = "code"
smartquotes_action = "De"  # dashes and dots; quotes stay as in code
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 80
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Fields", "params_style"), ("Fitted attributes", "params_style")]

html_theme = "furo"
html_title = "Labelwood"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
highlight_language = "text"
pygments_style = "friendly"
linkcheck_anchors = False
