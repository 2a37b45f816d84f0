"""Report the changes in a group: as a model, and as text, Markdown, JSON and a page."""
