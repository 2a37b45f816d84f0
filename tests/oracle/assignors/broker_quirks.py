"""stub"""


def range_quirks():
    return []


def uniform_quirks():
    return []
