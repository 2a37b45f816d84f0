"""stub"""


def range_quirks():
    return []


def round_robin_quirks():
    return []
