"""Whether topics can be joined by partition: as a model, and as text, Markdown, JSON and a page."""
