"""The site: `make docs` builds it into build/site."""

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
    "code_pages",
]
exclude_patterns = ["requirements.*"]
included_files = {"CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog", "README.md": "index"}
myst_heading_anchors = 4  # links to headings, as Git hosts write them
numpydoc_show_class_members = False
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections say what parameters are

html_theme = "furo"
html_title = f"rarefy {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
templates_path = ["_templates"]
pygments_style = "friendly"
