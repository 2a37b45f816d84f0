"""`copartition vectors`: exact answers, and where a program differs from them."""

from __future__ import annotations

import base64
import json
import sys
from functools import cache
from itertools import islice

import fastjsonschema
import pytest

from assignors import (
    Group,
    Member,
    SimpleAssignor,
    StreamsClassicStickyAssignor,
    StreamsGroup,
    StreamsHighAvailabilityAssignor,
    StreamsMember,
    StreamsStickyAssignor,
    Subtopology,
    Topic,
    get_assignor,
    register_assignor,
)
from copartition.vectors import comparison
from copartition.vectors.cases import SCHEMA, make_vectors
from partitioning import TopicPartition, partition_for_key
from partitioning.errors import AssignorError, SourceError
from tests.support.recording import MuteAssignor
from tests.support.tiers import sample

STRATEGIES = ("range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "broker-range")
CASES = len(sample(range(60), 3))
"""How many cases of a strategy are made again from what they say."""


def group_of(case):
    members = [
        Member(
            about["id"],
            about["topics"],
            instance_id=about.get("instance_id"),
            rack=about.get("rack"),
            owned=[
                TopicPartition(name, number)
                for name, *numbers in about.get("owned", ())
                for number in numbers
            ],
            generation=about.get("generation"),
            user_data=bytes.fromhex(about["user_data"]) if "user_data" in about else None,
        )
        for about in case["members"]
    ]
    return Group(
        [Topic(topic["name"], topic["partitions"], topic.get("racks")) for topic in case["topics"]], members
    )


def tasks(runs):
    """As Connect's groups have them here: the connector itself is task 0 of a topic of its own."""
    return [
        TopicPartition(f"connector:{name}", 0) if number == -1 else TopicPartition(name, number)
        for name, *numbers in runs
        for number in numbers
    ]


def connect_answer(leader, case):
    group = Group(
        [Topic(*connector) for connector in case["connectors"].items()],
        [Member(member["id"], [], owned=tasks(member["owned"])) for member in case["members"]],
        generation=case.get("completed_generation", 0),
    )
    if leader.name == "connect-eager":
        return {"assignment": dict(leader.assign(group))}
    told = leader.assign_at(group, case["now_ms"], case["generation"])
    return {"assignment": dict(told.assignment), "revoked": told.revoked, "delay_ms": told.delay_ms}


def streams_answer(strategy, case):
    def offsets(triples):
        return {TopicPartition(name, number): offset for name, number, offset in triples}

    members = [
        StreamsMember(
            member["id"],
            member["process_id"],
            active=tasks(member.get("active", ())),
            standby=tasks(member.get("standby", ())),
            offsets=offsets(member.get("offsets", ())),
            tags=member.get("tags", {}),
            rack=member.get("rack"),
        )
        for member in case["members"]
    ]
    subtopologies = [
        Subtopology(
            **{
                key: [Topic(**topic) for topic in value] if "topics" in key else value
                for key, value in subtopology.items()
            }
        )
        for subtopology in case["subtopologies"]
    ]
    group = StreamsGroup(
        subtopologies,
        members,
        standby_replicas=case["standby_replicas"],
        end_offsets=offsets(case.get("end_offsets", ())),
    )
    settings = {name: case[name] for name in SETTINGS if name in case}
    return STREAMS[strategy](**settings).assign(group)._asdict()


STREAMS = {
    "streams-sticky": StreamsStickyAssignor,
    "streams-high-availability": StreamsHighAvailabilityAssignor,
    "streams-classic-sticky": StreamsClassicStickyAssignor,
}
RACK_SETTINGS = [f"rack_aware_assignment_{name}" for name in ("strategy", "traffic_cost", "non_overlap_cost")]
SETTINGS = (
    *RACK_SETTINGS,
    "kafka_version",
    "max_warmup_replicas",
    "acceptable_recovery_lag",
    "rack_aware_assignment_tags",
)


class Exits(MuteAssignor):
    def assign(self, group):
        sys.exit(0)


def test_a_plug_in_that_ends_the_process_is_named(run, strangers):
    register_assignor("exits", Exits)
    result = run("vectors", "exits")
    assert result.exit_code == 2
    assert "'mute' ends the process in `assign`" in result.stderr


def runs(partitions):
    return [[topic, number] for topic, number in partitions]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_case_says_all_that_its_answer_follows_from(strategy):
    """Whoever reads a case, and keeps the leader of the cases before, comes to the same answer."""
    leader = get_assignor(strategy)
    for case in make_vectors(strategy, 12, seed=3):
        leader = get_assignor(strategy) if case["new_leader"] else leader
        try:
            answer = {
                "assignment": {name: runs(mine) for name, mine in leader.assign(group_of(case)).items()}
            }
        except AssignorError as error:
            answer = {"error": error.jvm_exception}
        assert comparison._verdict(case["answer"], answer) in {"equal", "other order"}
        flat = {
            name: [[t, n] for t, *ns in given for n in ns]
            for name, given in case["answer"]["assignment"].items()
        }
        assert answer["assignment"] == flat


@pytest.mark.parametrize("strategy", ["connect-eager", "connect-incremental"])
def test_a_case_of_connect_says_all_that_its_answer_follows_from(strategy):
    cases = make_vectors(strategy, len(sample(range(60), 2)), seed=3)
    leader = get_assignor(strategy)
    for case in cases:
        if case["new_leader"]:
            settings = {"max_delay_ms": case["max_delay_ms"]} if "max_delay_ms" in case else {}
            leader = get_assignor(strategy, **settings)
        assert connect_answer(leader, case) == as_lists(case["answer"])
    assert any(worker["owned"] for case in cases for worker in case["members"])
    if strategy == "connect-incremental":
        assert any(case["answer"]["revoked"] for case in cases)
        assert any(case["answer"]["delay_ms"] for case in cases)


@pytest.mark.parametrize("strategy", STREAMS)
def test_a_case_of_streams_says_all_that_its_answer_follows_from(strategy):
    cases = make_vectors(strategy, CASES, seed=3)
    for case in cases:
        assert streams_answer(strategy, case) == as_lists(case["answer"])
    assert any(mine for case in cases for mine in case["answer"]["standby"].values())
    assert any("offsets" in member for case in cases for member in case["members"])


@pytest.mark.heavy
@pytest.mark.parametrize("strategy", ["streams-high-availability", "streams-classic-sticky"])
def test_racks_move_tasks_in_some_cases(strategy):
    cases = [case for case in make_vectors(strategy, 200, seed=3) if "rack_aware_assignment_strategy" in case]
    without = [{name: value for name, value in case.items() if name not in RACK_SETTINGS} for case in cases]
    moved = (
        case
        for case, plain in zip(cases, without, strict=True)
        if streams_answer(strategy, case) != streams_answer(strategy, plain)
    )
    assert len([*islice(moved, 10)]) == 10


def as_lists(answer):
    return {
        name: {who: tasks(mine) for who, mine in value.items()} if isinstance(value, dict) else value
        for name, value in answer.items()
    }


def test_a_case_of_a_share_group_has_partitions_in_several_lists():
    cases = make_vectors("simple", 40, seed=3)
    shared = 0
    for case in cases:
        answer = SimpleAssignor().assign(group_of(case))
        assert dict(answer) == as_lists(case["answer"])["assignment"]
        shared += any(len(members) > 1 for members in answer.members_of.values())
    assert shared > 10


def test_keys_have_the_partition_of_the_profile(run):
    result = run("vectors", "sarama", "--count", 40)
    cases = json.loads(result.stdout)["cases"]
    assert len(cases) == 40
    assert any(case["key"] is None for case in cases)
    case = next(case for case in cases if case["key"] is not None)
    key = base64.b64decode(case["key"])
    assert case["answer"]["partition"] == partition_for_key(key, case["partitions"], profile="sarama")


def test_the_same_seed_gives_the_same_cases_and_another_seed_others():
    assert make_vectors("range", 9) == make_vectors("range", 9)
    assert make_vectors("range", 9) != make_vectors("range", 9, seed=1)


def test_the_document_has_the_fields_of_its_schema(run):
    assert json.loads(run("vectors", "--schema").stdout) == SCHEMA
    document = json.loads(run("vectors", "cooperative-sticky", "--count", 30).stdout)
    assert document.keys() == set(SCHEMA["required"])
    groups = SCHEMA["properties"]["cases"]["items"]["oneOf"][0]["properties"]
    for case in document["cases"]:
        assert case.keys() == groups.keys()
        for what in ("topics", "members"):
            fields = groups[what]["items"]
            assert all(
                set(fields["required"]) <= entry.keys() <= fields["properties"].keys() for entry in case[what]
            )


@pytest.mark.parametrize("strategy", ["simple", "connect-eager", "connect-incremental", *STREAMS, "java"])
def test_every_kind_of_case_is_in_the_schema(run, strategy):
    document = json.loads(run("vectors", strategy, "--count", CASES // 2).stdout)
    assert validate()(document) == document


@cache
def validate():
    """The function that holds a document to the schema."""
    return fastjsonschema.compile(older(SCHEMA))


def older(schema):
    """The same in the draft that fastjsonschema knows, where a list's first items are called otherwise."""
    if isinstance(schema, list):
        return list(map(older, schema))
    if not isinstance(schema, dict):
        return schema
    names = {"prefixItems": "items", "items": "additionalItems"} if "prefixItems" in schema else {}
    renamed = {names.get(name, name): older(value) for name, value in schema.items()}
    return renamed | {"$schema": "http://json-schema.org/draft-07/schema"} if "$schema" in schema else renamed


@pytest.mark.parametrize(
    ("exact", "answer", "verdict"),
    [
        ({"partition": 3}, {"partition": 3}, "equal"),
        ({"partition": 3}, {"partition": 2}, "different"),
        ({"assignment": {"a": [["t", 0, 1]]}}, {"assignment": {"a": [["t", 1, 0]]}}, "other order"),
        ({"assignment": {"a": [["t", 0]], "b": []}}, {"assignment": {"a": [["t", 0]]}}, "other order"),
        ({"assignment": {"a": [["t", 0]]}}, {"assignment": {"b": [["t", 0]]}}, "different"),
        ({"assignment": {"a": [["t", 0]]}}, {"error": "no"}, "different"),
        ({"assignment": {"a": [["t", 0]]}}, {"assignment": {"a": 5}}, "different"),
        ({"assignment": {}, "delay_ms": 5}, {"assignment": {}}, "different"),
        ({"active": {"a": [["0", 0, 1]]}}, {"active": {"a": [["0", 1, 0]]}}, "other order"),
        ({"active": {}, "standby": {"a": [["0", 1]]}}, {"active": {}, "standby": {}}, "different"),
        ({"error": "IllegalStateException"}, {"error": "IllegalStateException"}, "equal"),
    ],
)
def test_what_counts_as_the_same(exact, answer, verdict):
    assert comparison._verdict(exact, answer) == verdict


MIRROR = """
import json, sys
from copartition.vectors.cases import make_vectors
exact = make_vectors("range", 12)
for number, line in enumerate(sys.stdin):
    case = json.loads(line)
    assert "answer" not in case and case["strategy"] == "range"
    answer = exact[number]["answer"]
    print(json.dumps({"assignment": {}} if number == int(sys.argv[1]) else answer))
"""


@pytest.mark.live
@pytest.mark.parametrize(("wrong", "code"), [(99, 0), (5, 1)])
def test_a_program_is_compared_case_by_case(run, tmp_path, wrong, code):
    program = tmp_path / "mine.py"
    program.write_text(MIRROR)
    command = f"{sys.executable} {program} {wrong}"
    result = run("vectors", "range", "--count", 12, "--against", command, "-o", "json")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["equal"], report["different"]) == (code, 12 - code, code)
    text = run("vectors", "range", "--count", 12, "--against", command).stdout
    assert text.startswith(f"range: {12 - code} of 12 cases equal, 0 in another order, {code} different\n")


@pytest.mark.live
@pytest.mark.parametrize(
    ("program", "fault"),
    [
        ("print('{}')", "has neither assignment, active, error nor partition"),
        ("print('no')", "is no JSON"),
        ("print('{\"partition\": NaN}')", "is no JSON"),
        ("print('{\"partition\": ' + '[' * 500 + ']' * 500 + '}')", "more than 100 levels"),
        ("print('{\"partition\": ' + '[' * 99_999)", "is no JSON"),
        ("import sys; sys.stdout.buffer.write(b'\\xff{}')", "is no JSON"),
        ("", "after 0 answers to 1 cases"),
        ("raise SystemExit(3)", "ended with exit code 3"),
    ],
)
def test_a_program_that_does_not_answer_is_an_error(program, fault):
    cases = make_vectors("java", 1)
    with pytest.raises(SourceError, match=fault):
        comparison.check_vectors("java", cases, [sys.executable, "-c", program])


@pytest.mark.live
def test_only_line_breaks_end_a_line_of_an_answer():
    program = r"print('{\"error\": \"a\u2028b\x85c\"}')"
    (wrong,) = comparison.check_vectors("java", make_vectors("java", 1), [sys.executable, "-c", program])
    assert wrong.answer == {"error": "a\u2028b\x85c"}


@pytest.mark.live
def test_a_program_that_is_not_there_is_named():
    with pytest.raises(SourceError, match="cannot run '/nowhere'"):
        comparison.check_vectors("java", make_vectors("java", 1), ["/nowhere"])
