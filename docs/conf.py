"""The site: `make docs` builds it into build/site."""

import re
import sys
from pathlib import Path

from rarefy.version import __version__

HERE = Path(__file__).parent
sys.path.append(str(HERE / "_ext"))

project = "rarefy"
author = "the rarefy developers"
project_copyright = "the rarefy developers, Apache-2.0"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_click",
    "sphinx_gallery.gen_gallery",
    "code_pages",
]
exclude_patterns = ["requirements.*"]
included_files = {  # of the root, by the page that shows them
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "README.md": "index",
}
default_role = "literal"  # of `names` in docstrings
smartquotes = False  # options begin with two hyphens
myst_heading_anchors = 4  # links to headings, as Git hosts write them
numpydoc_show_class_members = False
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections say what parameters are
add_module_names = False  # pages have the names that users import in their titles

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py$",
    "ignore_pattern": "notebooks",
    "min_reported_time": 60.0,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "default_thumb_file": str(HERE / "_static" / "script.svg"),
    "abort_on_example_error": True,
}


def setup(app):
    app.connect("autodoc-process-docstring", without_references)
    app.connect("autodoc-process-signature", without_making)


def without_references(app, what, name, obj, options, lines):
    """Docstrings that are inherited from scikit-learn refer to pages of its own site."""
    lines[:] = [
        re.sub(r":(?:ref|term|math):`([^<`]+?)(?: <[^>]+>)?`", r"\1", line) for line in lines
    ]


def without_making(app, what, name, obj, options, signature, returned):
    """Objects that functions return are never made by users; estimators list their parameters."""
    return ("", "") if what == "class" else None


html_theme = "furo"
html_title = f"rarefy {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
templates_path = ["_templates"]
pygments_style = "friendly"
