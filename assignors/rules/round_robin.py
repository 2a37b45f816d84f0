"""The rule of "roundrobin": `org.apache.kafka.clients.consumer.RoundRobinAssignor`.

This is the rule of Kafka 4.4.0 (the same in 4.1 to 4.4). Partitions are given out one by one, topic after
topic, to a circle of members. Racks are ignored.
"""

from bisect import bisect_left
from collections import defaultdict

from assignors.assignment import Assignment
from assignors.group import Group
from assignors.interface import Reason, Recorder, record_nothing
from assignors.rules.group_spec import partitions_per_topic, sorted_members
from partitioning.errors import AssignorError
from partitioning.java import utf16_key
from partitioning.topic_partition import TopicPartition


def assign_round_robin(group: Group, record: Recorder = record_nothing) -> Assignment:
    """Return the assignment (`assign`); raise AssignorError if the group has no members."""
    # 1. Make the circle. Java's CircularIterator refuses an empty circle.
    if not group.members:
        raise AssignorError(
            "the group has no members; assign only groups with members",
            jvm_exception="IllegalArgumentException",
        )
    circle = sorted_members(group)
    subscribers: dict[str, list[int]] = defaultdict(list)
    for place, member in enumerate(circle):
        for topic in dict.fromkeys(member.topics):
            subscribers[topic].append(place)

    # 2. Each partition goes to the next member that subscribes to its topic. The circle continues from there.
    assignment: dict[str, list[TopicPartition]] = {member.id: [] for member in circle}
    turn = 0
    counts = partitions_per_topic(group)
    for topic in sorted(counts, key=utf16_key):  # Quirk: text sorts by UTF-16 code unit.
        # Java steps round the circle for each partition. A search among the subscribers' places finds the
        # same member.
        places = subscribers[topic]
        for number in range(counts[topic]):
            following = bisect_left(places, turn)
            place = places[following] if following < len(places) else places[0]
            partition = TopicPartition(topic, number)
            assignment[circle[place].id].append(partition)
            record(partition, Reason.TURN, circle[place].id)
            turn = place + 1
    return Assignment.for_group(group, assignment)
