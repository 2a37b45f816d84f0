"""Writes the pictures, and the tables of the page."""

from docs.worked_groups.page import files

for path, content in files().items():
    path.write_text(content, encoding="utf-8")
