"""stub"""


def quirks(a):
    return []
