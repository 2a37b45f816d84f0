"""What a JSON schema shows of the docstring of a class."""

from copartition.kit.words import attribute_texts, type_text


class Described:
    """A thing of the report.

    Its number is None if nobody
    counted it.

    Attributes:
        number: how many there are; None
            if nobody counted.

    Raises:
        ValueError: never.

    >>> Described()
    """


def test_the_text_of_a_type_ends_at_its_first_section():
    assert type_text(Described) == "A thing of the report. Its number is null if nobody counted it."


def test_an_attribute_is_described_in_one_line_with_null_for_none():
    assert attribute_texts(Described) == {"number": "how many there are; null if nobody counted."}
