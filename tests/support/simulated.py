"""What a simulated run says, as tests ask for it."""


def said(result, *kinds):
    """The entries of its log of these kinds, each with its subject."""
    return [(entry.what, entry.subject) for entry in result.log if entry.what in kinds]


def when(result, what):
    """The times of the entries of this kind."""
    return [entry.at_ms for entry in result.log if entry.what == what]
