"""What each leader got and what it answered, from the broker's log, against our assignors."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from assignors import Group, Member, Topic, get_assignor
from assignors.protocol import decode_assignment, decode_subscription
from benchmarks.rebalances.broker_log import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from benchmarks.rebalances.broker_log import Decision

Row = dict[str, Any]


def led_generations(
    group: str, log: Iterable[Request | Decision], since: Callable[[float], float]
) -> list[Row]:
    """Every generation of a group that a leader assigned: members as JoinGroup named them, and its answer."""
    requests = [each for each in log if isinstance(each, Request) and each.client.startswith(f"{group}/")]
    process_of = {
        each.response["memberId"]: each.client.removeprefix(f"{group}/")
        for each in requests
        if each.api == "JOIN_GROUP"
    }
    told = {
        each.response["generationId"]: each.response
        for each in requests
        if each.api == "JOIN_GROUP" and each.response["members"]
    }
    return [
        {
            "at": since(each.at),
            "generation": each.request["generationId"],
            "assignor": told[each.request["generationId"]]["protocolName"],
            "leader": process_of[each.request["memberId"]],
            "members": [
                [
                    member["memberId"],
                    member["groupInstanceId"],
                    process_of[member["memberId"]],
                    member["metadata"],
                ]
                for member in told[each.request["generationId"]]["members"]
            ],
            "assigned": {
                process_of[given["memberId"]]: _numbers(given["assignment"])
                for given in each.request["assignments"]
            },
        }
        for each in requests
        if each.api == "SYNC_GROUP"
        and each.request["assignments"]
        and each.response["errorCode"] == 0
        and each.request["generationId"] in told
    ]


def ours(row: Row, partitions: int, client: str) -> dict[str, list[int]]:
    """What our assignor answers for the group that JoinGroup showed the leader.

    Args:
        row: a generation.
        partitions: of the topic.
        client: of the leader; aiokafka tells assignors no instance ids and no owned partitions, librdkafka
            has a "cooperative-sticky" of its own.
    """
    members, topics = [], set()
    for member_id, instance, _, metadata in row["members"]:
        said = decode_subscription(base64.b64decode(metadata))
        topics.update(said.topics)
        if client == "aiokafka":
            members.append(Member(member_id, said.topics, user_data=said.user_data or None))
        else:
            members.append(
                Member(
                    member_id,
                    said.topics,
                    instance_id=instance or None,
                    owned=said.owned,
                    generation=said.generation,
                    user_data=said.user_data,
                )
            )
    group = Group([Topic(name, partitions) for name in sorted(topics)], members)
    own = "librdkafka-" if (client, row["assignor"]) == ("librdkafka", "cooperative-sticky") else ""
    answer = get_assignor(f"{own}{row['assignor']}").assign(group)
    process_of = {member_id: process for member_id, _, process, _ in row["members"]}
    return {process_of[member_id]: sorted(number for _, number in answer[member_id]) for member_id in answer}


def _numbers(assignment: str) -> list[int]:
    return sorted(number for _, number in decode_assignment(base64.b64decode(assignment))[0])
