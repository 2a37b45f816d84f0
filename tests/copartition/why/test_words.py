from copartition.why.history import Cause
from copartition.why.statements import Kind
from partitioning.kit.packages import read_toml

WORDS = read_toml("copartition.why", "words.toml")


def test_each_cause_but_the_unknown_one_has_words() -> None:
    assert WORDS["because"].keys() == {*Cause} - {Cause.UNKNOWN}


def test_words_of_statements_are_for_kinds_that_there_are() -> None:
    assert WORDS["others"].keys() | WORDS["gone"].keys() <= {*Kind}
