"""What partitions weigh and members can carry, as people say it."""

import numpy as np
import pytest

from assignors import Group, Member, Topic, get_assignor
from assignors.columnar.sticky_structures import recall_user_data
from assignors.optimal.reading import number_group
from assignors.weighted.weights import Capacities, Weights, read_weights
from partitioning.errors import InvalidConfigError

CLIENT = "billing-0f9a1b2c-1111-2222-3333-444455556666"


def weights_of(weights, *, topics=(("a", 3), ("b", 2))):
    """What the partitions of a-0, a-1, ..., b-1 weigh, in multiples of the first."""
    members = [Member("m", [name for name, _ in topics])]
    group = Group([Topic(name, count) for name, count in topics], members)
    found = weights.of(number_group(group, recall_user_data(group.members)))
    return (found / found[0]).tolist()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [1, 1, 1, 1, 1]),
        ({"a": 2, "b": 4}, [1, 1, 1, 2, 2]),
        ({"a": [1, 2, 3], "b": 2.0}, [1, 2, 3, 2, 2]),
        ({"a": np.array([1, 2, 3]), "b": np.float32(2)}, [1, 2, 3, 2, 2]),
        ({"a": {0: 1, 1: 3}}, [1, 3, 2, 2, 2]),
        ({"a": 1, ("a", 2): 5}, [1, 1, 5, 7 / 3, 7 / 3]),
        ({("a", 0): 2, ("b", 0): 8}, [1, 1, 1, 4, 4]),
        ({"a": [1, 2, 3, 100], "gone": 7, "b": 1}, [1, 2, 3, 1, 1]),
        ({"a": {0: 1e300, 1: 1e-300}, "b": 0}, [1, 0, 0.5, 0, 0]),
    ],
)
def test_weights_by_topic_and_partition(given, expected):
    assert weights_of(Weights(given)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"a": -1}, "weight of topic 'a' is -1"),
        ({"a": [1, float("nan")]}, "weight of a-1 is nan"),
        ({("a", 0): float("inf")}, "weight of a-0 is inf"),
        ({"a": 10**400}, "weight of topic 'a' is 1000"),
        ({"a": "heavy"}, "weight of topic 'a' is 'heavy'"),
        ({"a": True}, "weight of topic 'a' is True"),
        ({"a": {-1: 2}}, "a--1 has a weight"),
        ({"a": {"x": 2}}, "topic 'a' has a weight for 'x'"),
        ({"a": [1], ("a", 0): 2}, "a-0 has two weights"),
        ({3: 1}, "3 has a weight"),
        ([1, 2], "weights are [1, 2]"),
    ],
)
def test_what_is_no_weight_is_refused(given, named):
    with pytest.raises(InvalidConfigError) as refused:
        get_assignor("weighted", weights=given)
    assert named in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"capacities": {"m0": 0}}, "capacity of member 'm0' is 0"),
        ({"capacities": {"m0": -2.5}}, "capacity of member 'm0' is -2.5"),
        ({"capacities": {"m0": float("nan")}}, "capacity of member 'm0' is nan"),
        ({"capacities": {"m0": float("inf")}}, "capacity of member 'm0' is inf"),
        ({"capacities": 3}, "capacities are 3"),
        ({"max_moves": -1}, "max_moves is -1"),
        ({"max_moves": 2.5}, "max_moves is 2.5"),
        ({"max_moves": True}, "max_moves is True"),
        ({"min_gain": -0.1}, "min_gain is -0.1"),
        ({"min_gain": float("nan")}, "min_gain is nan"),
        ({"min_gain": "much"}, "min_gain is 'much'"),
    ],
)
def test_settings_without_meaning_are_refused(settings, named):
    with pytest.raises(InvalidConfigError) as refused:
        get_assignor("cooperative-weighted", **settings)
    assert named in str(refused.value)


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (Member("m0", ["a"]), 1),
        (Member(CLIENT, ["a"]), 2),
        (Member("any", ["a"], instance_id="static"), 6),
        (Member(CLIENT, ["a"], instance_id="static"), 6),
        (Member("unknown", ["a"]), 3),
    ],
)
def test_capacities_by_instance_client_or_member_id(member, expected):
    capacities = Capacities({"m0": 1, "billing": 2, "static": 6})
    known = [Member("m0", ["a"]), Member("billing", ["a"]), Member("static", ["a"])]
    found = capacities.of([known[0], member, *known[1:]])
    assert found[1] / found[0] == pytest.approx(expected)


WRITTEN = {
    "weights.json": '{"a": {"0": 1, "2": 3}, "b": 4}',
    "weights.yaml": "a:\n  0: 1\n  2: 3\nb: 4\n",
    "weights.yml": "a: {'0': 1, '2': 3}\nb: 4\n",
    "weights.csv": "topic,partition,weight\na,0,1\na,2,3\nb,,4\n",
    "other.csv": "weight,topic,partition\r\n1,a,0\r\n\r\n3,a,2\r\n4,b,\r\n",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_weights_from_a_file(tmp_path, name):
    path = tmp_path / name
    path.write_text(WRITTEN[name], newline="")
    assert weights_of(read_weights(path)) == [1, 2, 3, 4, 4]


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("w.json", '{"a": 1, "b"', "line 1 column 13"),
        ("w.json", '{"a": 1,\n "a": 2}', "'a' is there twice"),
        ("w.json", '{"a": NaN}', "weight of topic 'a' is nan"),
        ("w.json", '{"a": 1e999}', "weight of topic 'a' is inf"),
        ("w.json", "[1, 2]", "no mapping but list"),
        ("w.json", "[" * 100_000, "nested too deeply"),
        ("w.yaml", "a: 1\nb: 12", "line 2, the last one"),
        ("w.yaml", "a: 1\nb: [1\n", "line 3"),
        ("w.yaml", "1: 2\n", "1 has a weight"),
        ("w.yaml", "a: 1\nb: 2\na: 3\n", "line 3, column 1: 'a' is there twice; give it once"),
        ("w.csv", "topic,partition,weight\na,0,1", "line 2, the last one"),
        ("w.csv", "topic,partition,weight\na,0,1\na,1\n", "line 3: ['a', '1'] has 2 fields"),
        ("w.csv", "topic,partition,weight\na,0,much\n", "line 2: could not convert"),
        ("w.csv", "topic,partition,weight\na,0,-1\n", "line 2: the weight of ['a', '0', '-1']"),
        ("w.csv", "topic,partition,weight\na,x,1\n", "line 2: ['a', 'x', '1'] is of no partition"),
        ("w.csv", "topic,partition,weight\na,0,1\na,0,2\n", "line 3: ['a', '0', '2'] is there a second time"),
        ("w.csv", "topic,weight\na,1\n", "line 1: the columns are"),
        ("w.csv", 'topic,partition,weight\n"a,0,1\n', "line 2"),
        ("w.csv", "", "line 1, the last one"),
        ("w.txt", "a 1\n", "name the file .json"),
    ],
)
def test_a_file_that_says_no_weights_is_refused(tmp_path, name, text, named):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InvalidConfigError) as refused:
        get_assignor("weighted", weights=path)
    assert named in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidConfigError, match=r"nowhere\.json cannot be read"):
        get_assignor("weighted", weights=str(tmp_path / "nowhere.json"))


def test_the_identity_that_is_known_best_says_the_capacity():
    members = [Member("a", ["t"], instance_id="i"), Member("b", ["t"])]
    group = Group([Topic("t", 4)], members)
    answer = get_assignor("weighted", capacities={"i": 3, "a": 1, "b": 1}).assign(group)
    assert len(answer["a"]) == 3
