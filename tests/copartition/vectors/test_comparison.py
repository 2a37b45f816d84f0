"""A program's answers beside the exact ones, without a program."""

from __future__ import annotations

import json
import subprocess
from types import SimpleNamespace

import pytest

from copartition.vectors import comparison
from partitioning.errors import SourceError


@pytest.fixture
def program(monkeypatch):
    """Have every program end like this, without one; gives what it was asked."""

    def ends(stdout=b"", returncode=0, error=None):
        asked = []

        def run(command, *, input, **how):  # noqa: A002 - its name in subprocess
            # What it says of its own faults goes where the user sees it.
            assert how == {"stdout": subprocess.PIPE, "check": False}
            asked.append((command, [json.loads(line) for line in input.splitlines()]))
            if error is not None:
                raise error
            return SimpleNamespace(stdout=stdout, returncode=returncode)

        monkeypatch.setattr(comparison.subprocess, "run", run)
        return asked

    return ends


CASES = [{"case": number, "n": number, "answer": {"partition": number}} for number in range(3)]
ANSWERS = [b'{"partition": 0}', b'{"partition": 1}', b'{"partition": 2}']


@pytest.mark.parametrize("last_line_break", [b"", b"\n"])
def test_the_program_gets_each_question_without_its_answer(program, last_line_break):
    asked = program(b"\n".join(ANSWERS) + last_line_break)
    assert comparison.check_vectors("java", CASES, ["it", "-x"]) == []
    assert asked == [(["it", "-x"], [{"strategy": "java", "case": n, "n": n} for n in range(3)])]


def test_each_wrong_answer_stands_beside_its_case_in_their_order(program):
    program(b"\n".join([b'{"error": "a"}', ANSWERS[1], b'{"partition": 0, "more": 1}']))
    wrong = comparison.check_vectors("java", CASES, ["it"])
    assert [(answer.case["case"], answer.verdict) for answer in wrong] == [(0, "different"), (2, "different")]
    assert wrong[0].answer == {"error": "a"}


@pytest.mark.parametrize(
    ("ending", "fault"),
    [
        (
            {"stdout": b"\n".join(ANSWERS), "returncode": 1},
            "'it' ended with exit code 1 after 3 answers to 3",
        ),
        ({"stdout": b"\n".join(ANSWERS[:2])}, "ended with exit code 0 after 2 answers to 3 cases"),
        ({"stdout": b"\n".join([*ANSWERS, b"{}"])}, "after 4 answers to 3 cases"),
        ({"stdout": b""}, "after 0 answers to 3 cases"),
        ({"stdout": b"\n\n\n"}, "the answer to case 0 is no JSON"),
        ({"stdout": b"\n".join([ANSWERS[0], b"[]", ANSWERS[2]])}, "answer to case 1 has neither assignment"),
        ({"stdout": b"\n".join([*ANSWERS[:2], b'{"owner": 2}'])}, "answer to case 2 has neither assignment"),
        ({"stdout": b"\n".join([*ANSWERS[:2], b'{"partition": NaN}'])}, "answer to case 2 is no JSON"),
        ({"error": FileNotFoundError(2, "No such file")}, "cannot run 'it': .*No such file"),
        ({"error": ValueError("embedded null byte")}, "cannot run 'it': embedded null byte"),
    ],
)
def test_what_a_program_may_not_do_is_named(program, ending, fault):
    program(**ending)
    with pytest.raises(SourceError, match=fault):
        comparison.check_vectors("java", CASES, ["it"])


def test_a_line_that_is_no_answer_is_shown_in_part(program):
    program(b"\xff" + b"x" * 100)
    with pytest.raises(SourceError) as caught:
        comparison.check_vectors("java", CASES[:1], ["it"])
    assert str(caught.value).endswith(f": '\N{REPLACEMENT CHARACTER}{'x' * 59}'")


@pytest.mark.parametrize("key", ["assignment", "active", "error", "partition"])
def test_each_kind_of_answer_is_one(program, key):
    program(b'{"%s": 1}' % key.encode())
    (wrong,) = comparison.check_vectors("java", CASES[:1], ["it"])
    assert (wrong.answer, wrong.verdict) == ({key: 1}, "different")


def test_a_report_shows_the_first_differences_and_wrong_partitions_before_wrong_orders():
    wrong = [
        comparison.WrongAnswer(case | {"case": number}, {"n": number}, verdict)
        for number, (case, verdict) in enumerate(
            zip(CASES * 10, ["other order", "different"] * 15, strict=True)
        )
    ]
    report = json.loads(comparison.vectors_report("java", [None] * 40, wrong, "json"))
    assert {name: report[name] for name in ("strategy", "cases", "equal", "other_order", "different")} == {
        "strategy": "java",
        "cases": 40,
        "equal": 10,
        "other_order": 15,
        "different": 15,
    }
    verdicts = [difference["verdict"] for difference in report["differences"]]
    assert verdicts == ["different"] * 15 + ["other order"] * 5
    assert report["differences"][0] == {"verdict": "different", "case": wrong[1].case, "found": {"n": 1}}
    text = comparison.vectors_report("java", [None] * 40, wrong, "text").splitlines()
    assert text[0] == "java: 10 of 40 cases equal, 15 in another order, 15 different"
    assert len(text) == 1 + 3 * 5
    assert text[1:4] == ['case 1, different: {"n": 1}', '  exact  {"partition": 1}', '  found  {"n": 1}']


def test_a_report_without_differences_counts_every_case_as_equal():
    report = comparison.vectors_report("java", [{"case": 0}, {"case": 1}], [], "text")
    assert report == "java: 2 of 2 cases equal, 0 in another order, 0 different\n"
    document = json.loads(comparison.vectors_report("java", [{"case": 0}], [], "json"))
    assert (document["cases"], document["equal"], document["differences"]) == (1, 1, [])
