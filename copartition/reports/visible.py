"""Other people's text, safe to show: what could steer a terminal, a page or the eye becomes an escape."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""The text, every character that cannot be seen written as Python would: \x1b, \n, \u202e, \udc80.

    Those are control characters, marks without width, marks of direction, odd blanks, and bytes that were no
    UTF-8. Text without them is returned as it is, backslashes included; JSON reports carry the true value.
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text
    )
