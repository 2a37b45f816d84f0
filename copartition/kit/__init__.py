"""Hold what several rooms of the tools share: words, tables, pages, JSON, evidence, admin requests.

No module here belongs to a single question: the rooms import from here, never the other way round.
"""
