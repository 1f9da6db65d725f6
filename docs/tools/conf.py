"""How Sphinx builds the pages that `build.py` puts together."""

project = "Areopagus"
author = "The Areopagus founders"
extensions = ["myst_parser"]
root_doc = "index"
html_theme = "furo"
html_title = "Areopagus"
# Two hyphens are the beginning of an option.
smartquotes = False
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
# GitHub makes its anchors of headings by the same rule.
myst_heading_anchors = 4
# A link to a page or an anchor that is not there is an error, with --fail-on-warning.
nitpicky = True
# Output of a command is no language; a page may begin below the first heading level of another.
suppress_warnings = ["misc.highlighting_failure"]
