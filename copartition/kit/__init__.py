"""Hold the things that several rooms of the tools share: words, tables, pages, JSON, evidence, admin.

Nothing here knows a question: the rooms import from here, never the other way round.
"""
