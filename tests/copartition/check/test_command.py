"""`copartition check` on topics that a reader of our own gives."""

import json
from contextlib import contextmanager

import fastjsonschema
import pytest

from copartition.audit.topic_audit import Coverage
from copartition.check.command import CHECKS
from copartition.check.report import JoinNumbers
from copartition.kit.number_checks import read_check
from tests.copartition.check.invented import Topic

USERS = tuple(b"user-%d" % number for number in range(300))
TOPICS = {
    "orders": Topic("orders", (("java", 12, USERS),), 12),
    "payments": Topic("payments", (("kafkajs", 12, USERS),), 12),
    "dotnet": Topic("dotnet", (("librdkafka", 12, USERS),), 12),
    "small": Topic("small", (("java", 6, USERS),), 6),
}


class Reading:
    """Records of an invented topic, as the reader of a cluster gives them."""

    compacted, header_schemas = False, ()

    def __init__(self, topic, selection):
        self.num_partitions, self._records = topic.count, topic.records
        rows = len(self._records.offset)
        kind = "full" if selection.full else "sample"
        self.coverage = Coverage(kind, rows, 10 * rows, tuple(range(topic.count)), "parts of all partitions")

    def __iter__(self):
        yield self._records


@pytest.fixture
def cluster(monkeypatch):
    """A cluster with these topics."""

    @contextmanager
    def read(topic, _config, selection):
        assert not selection.committed
        yield Reading(TOPICS[topic], selection)

    monkeypatch.setattr("copartition.audit.cluster.TopicReading", read)
    return "-b", "localhost:9092"


@pytest.mark.parametrize(
    ("topics", "options", "code", "said"),
    [
        (["orders", "payments"], ["--full"], 0, "yes, orders and payments can be joined by partition"),
        (
            ["orders", "payments"],
            [],
            2,
            "cannot tell whether orders and payments can be joined by partition: of o",
        ),
        (
            ["orders", "dotnet"],
            [],
            1,
            "no, orders and dotnet cannot be joined by partition: keys of orders are",
        ),
        (
            ["orders", "small"],
            ["--full"],
            1,
            "no, orders and small cannot be joined by partition: orders has 12",
        ),
    ],
)
def test_the_verdict_comes_first_and_is_the_exit_code(run, cluster, topics, options, code, said):
    result = run("check", *topics, *options, *cluster)
    assert (result.exit_code, result.stderr) == (code, "")
    assert result.stdout.startswith(said)


def test_text_tells_keys_and_the_way_out(run, cluster):
    text = run("check", "orders", "dotnet", "--full", *cluster).stdout
    assert "  KEY         IN ORDERS  IN DOTNET\n" in text
    assert "librdkafka: partitioner=murmur2_random" in text
    assert "  assumed: keys are the same where their bytes are\n" in text
    assert "  assumed: records of open and aborted transactions count, " in text


@pytest.mark.parametrize(
    ("checks", "code", "said"),
    [
        (["apart<=0", "common>=300"], 0, ""),
        (["common>300"], 1, "check failed: common>300, it is 300"),
        (["breaks<=0"], 2, "breaks is unknown"),
        (["aprt<=0"], 2, "did you mean apart"),
    ],
)
def test_limits(run, cluster, checks, code, said):
    options = [argument for check in checks for argument in ("--check", check)]
    result = run("check", "orders", "payments", "--full", *cluster, *options)
    assert result.exit_code == code
    assert said in result.stderr


def test_a_limit_on_a_sample_is_not_passed_by_what_was_not_read(run, cluster):
    result = run("check", "orders", "payments", *cluster, "--check", "apart<=0")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "apart is at least 0, the inputs do not show it exactly" in result.stderr


def test_help_names_what_a_check_can_look_at():
    names = CHECKS.replace("; with --grow", ",").split(", ")
    assert names == [name for name in JoinNumbers.__dataclass_fields__ if name != "exact"]
    assert [str(read_check(f"{name}<=1", JoinNumbers)) for name in names] == [f"{name}<=1" for name in names]


PLAN = ["--join", "a,b", "--join", "b,c", "--grow", "a=48", *("--topic=a=24", "--topic=b=24", "--topic=c=24")]
WRITERS = ["--writer", "a=java", "--writer", "b=librdkafka"]


def test_a_plan(run):
    result = run("check", *PLAN)
    assert result.exit_code == 1
    assert result.stdout.startswith("no, growing a to 48 breaks a with b: partition counts would differ\n")
    assert "grow too: b to 48 (now 24) and c to 48 (now 24)" in result.stdout


def test_a_plan_in_numbers(run):
    assert run("check", *PLAN, "--check", "breaks<=1", "--check", "moves==0").exit_code == 0
    assert run("check", *PLAN, "--check", "breaks<1").exit_code == 1


def test_writers(run):
    result = run("check", *WRITERS)
    assert result.exit_code == 1
    assert "      partitioner=murmur2_random\n" in result.stdout


def test_writers_of_known_counts(run):
    same = ["--writer", "a=java", "--writer", "b=librdkafka,partitioner=murmur2_random"]
    assert run("check", *same).exit_code == 2
    assert run("check", *same, "--topic", "a=12", "--topic", "b=12").exit_code == 0


def test_counts_that_are_not_given_come_from_the_cluster(run, monkeypatch):
    class Cluster:
        def __init__(self, _source, config):
            assert config["bootstrap.servers"] == "localhost:9092"
            self.counts = {"a": 6, "b": 6}

    monkeypatch.setattr("copartition.groups.live.cluster.Cluster", Cluster)
    plan = ["check", "a", "b", "--grow", "a=12", "-b", "localhost:9092"]
    assert "(now 6)" in run(*plan).stdout
    assert "(now 9)" in run(*plan, "--topic", "b=9").stdout


def documents(run, cluster):
    yield run("check", "orders", "payments", "--full", *cluster, "-o", "json", "--check", "apart<=0").stdout
    yield run("check", "orders", "dotnet", *cluster, "-o", "json").stdout
    yield run("check", *PLAN, "-o", "json").stdout
    yield run("check", *WRITERS, "-o", "json").stdout


def test_json_is_as_the_schema_says(run, cluster):
    validate = fastjsonschema.compile(json.loads(run("check", "--schema").stdout))
    for document in documents(run, cluster):
        validate(json.loads(document))


def test_the_schema_says_what_each_field_is(run):
    definitions = json.loads(run("check", "--schema").stdout)["$defs"]
    unsaid = [
        f"{kind}.{name}"
        for kind, of in definitions.items()
        for name, field in of["properties"].items()
        if "description" not in field
    ]
    assert unsaid == []


def test_json_has_what_text_tells(run, cluster):
    found = json.loads(run("check", "orders", "dotnet", "--full", *cluster, "-o", "json").stdout)
    assert (found["answer"], found["numbers"]["common"]) == ("no", 300)
    proof = found["join"]["proof"]
    assert proof["apart"] == found["numbers"]["apart"] > 200
    example = proof["examples"][0]
    assert bytes.fromhex(example["key"]["hex"]).decode() == example["key"]["text"]
    assert [audit["rules"][0]["hash"] for audit in found["join"]["audits"]] == ["murmur2", "crc32"]


@pytest.mark.parametrize("arguments", [PLAN, WRITERS])
def test_markdown_begins_with_the_verdict(run, arguments):
    assert run("check", *arguments, "-o", "markdown").stdout.startswith("**no, ")


def test_markdown_of_topics(run, cluster):
    text = run("check", "orders", "dotnet", "--full", *cluster, "-o", "markdown").stdout
    assert "| orders | 12 | 300 | 3,000 | java (murmur2) over 12 | sure | text |\n" in text
    assert "`librdkafka: partitioner=murmur2_random; " in text
    assert "<details><summary>Keys that are apart</summary>" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a", "b"], "name it with -b HOST:PORT, or give --writer"),
        (["a", "-b", "x:1"], "a join has two topics or more, each once, not a"),
        (["a", "a", "-b", "x:1"], "each once, not a, a"),
        (["a", "b", "--topic", "a=1", "-b", "x:1"], "leave --topic out"),
        (["a", "b", "--full", "--last", "3"], "--full, --last and --since exclude each other; give one"),
        (["a", "b", "--join", "a,b"], "--join is for --grow"),
        ([*WRITERS, "--full"], "--grow and --writer read no records"),
        ([*WRITERS, "--grow", "a=3"], "give one of them"),
        ([*WRITERS, "a"], "--writer names the topics"),
        (["a", "b", "--grow", "a=x"], "'a=x' is not TOPIC=N"),
        (["a", "b", "--grow", "a=3"], "how many partitions has a?"),
        (["--grow", "a=3"], "no join has the topic a"),
        (["--writer", "a=jaba", "--writer", "b=java"], "did you mean java"),
    ],
)
def test_what_cannot_be_asked(run, arguments, said):
    result = run("check", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
