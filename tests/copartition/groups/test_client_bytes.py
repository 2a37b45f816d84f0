"""Which client libraries a group has, by bytes that real groups left with a coordinator."""

import pytest

from copartition.groups.live.members import find_clients


def subscription(version, user_data):
    """The bytes of a subscription to the topic "t", as far as they tell who wrote them."""
    said = b"\xff\xff\xff\xff" if user_data is None else len(user_data).to_bytes(4, "big") + user_data
    owned = b"\0\0\0\0" if version >= 1 else b""
    rest = (b"\0\0\0\1" if version >= 2 else b"") + (b"\xff\xff" if version >= 3 else b"")
    return version.to_bytes(2, "big") + b"\0\0\0\1\0\1t" + said + owned + rest


def assignment(version, user_data):
    """The bytes of an assignment of t-0."""
    said = b"\xff\xff\xff\xff" if user_data is None else len(user_data).to_bytes(4, "big") + user_data
    return version.to_bytes(2, "big") + b"\0\0\0\1\0\1t\0\0\0\1\0\0\0\0" + said


LISTED = bytes.fromhex("0000000000000002")
JAVA = subscription(3, None), assignment(3, None)
JAVA_COOPERATIVE = subscription(3, b"\0\0\0\2"), assignment(3, None)
LIBRDKAFKA = subscription(3, b""), assignment(0, b"")
LIBRDKAFKA_COOPERATIVE = subscription(3, LISTED), assignment(0, LISTED)
KAFKA_PYTHON = subscription(0, b""), assignment(0, b"")
KAFKA_PYTHON_COOPERATIVE = subscription(1, b""), assignment(1, b"")
OURS_IN_KAFKA_PYTHON = subscription(3, None), assignment(3, b"")
OURS_IN_AIOKAFKA = subscription(0, LISTED), assignment(0, b"\0\0\0\2")


@pytest.mark.parametrize(
    ("leader", "others", "strategy", "expected"),
    [
        (JAVA, [], "range", ("java", ("java",))),
        (JAVA_COOPERATIVE, [], "cooperative-sticky", ("java", ("java",))),
        (LIBRDKAFKA, [], "range", ("librdkafka", ("librdkafka",))),
        (LIBRDKAFKA_COOPERATIVE, [], "cooperative-sticky", ("librdkafka", ("librdkafka",))),
        (
            LIBRDKAFKA_COOPERATIVE,
            [JAVA_COOPERATIVE],
            "cooperative-sticky",
            ("librdkafka", ("java", "librdkafka")),
        ),
        (JAVA_COOPERATIVE, [LIBRDKAFKA_COOPERATIVE], "cooperative-sticky", ("java", ("java", "librdkafka"))),
        (KAFKA_PYTHON, [], "range", ("kafka-python", ("kafka-python",))),
        (KAFKA_PYTHON_COOPERATIVE, [], "cooperative-sticky", ("kafka-python", ("kafka-python",))),
        (OURS_IN_KAFKA_PYTHON, [], "range", ("java", ("kafka-python",))),  # by Java's rules
        (OURS_IN_AIOKAFKA, [], "sticky", ("java", ("kafka-python",))),
        (KAFKA_PYTHON, [LIBRDKAFKA], "range", (None, ("kafka-python", "librdkafka"))),
        (JAVA, [LIBRDKAFKA], "range", ("java", ("java", "librdkafka"))),
        ((subscription(3, b"mine"), assignment(3, b"mine")), [], "own", (None, ())),
        ((b"\0", b"\0"), [], "range", (None, ())),
        ((b"", b""), [], None, (None, ())),
    ],
)
def test_bytes_tell_who_leads_and_who_is_there(leader, others, strategy, expected):
    subscriptions = [said for said, _ in (leader, *others)]
    assert find_clients(subscriptions, [leader[1]] * len(subscriptions), strategy) == expected


def test_two_leaders_at_once_are_none():
    told = find_clients([JAVA[0], LIBRDKAFKA[0]], [JAVA[1], LIBRDKAFKA[1]], "range")
    assert told == (None, ("java", "librdkafka"))
