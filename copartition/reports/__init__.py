"""Diffs and simulations as text, JSON, ndjson, CSV, Markdown, HTML and SVG; import the module you need."""
