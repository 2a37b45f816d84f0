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
    requests = [entry for entry in log if isinstance(entry, Request) and entry.client.startswith(f"{group}/")]
    process_of = {
        request.response["memberId"]: request.client.removeprefix(f"{group}/")
        for request in requests
        if request.api == "JOIN_GROUP"
    }
    told = {
        request.response["generationId"]: request.response
        for request in requests
        if request.api == "JOIN_GROUP" and request.response["members"]
    }
    return [
        {
            "at": since(request.at),
            "generation": request.request["generationId"],
            "assignor": told[request.request["generationId"]]["protocolName"],
            "leader": process_of[request.request["memberId"]],
            "members": [
                [
                    member["memberId"],
                    member["groupInstanceId"],
                    process_of[member["memberId"]],
                    member["metadata"],
                ]
                for member in told[request.request["generationId"]]["members"]
            ],
            "assigned": {
                process_of[given["memberId"]]: _numbers(given["assignment"])
                for given in request.request["assignments"]
            },
        }
        for request in requests
        if request.api == "SYNC_GROUP"
        and request.request["assignments"]
        and request.response["errorCode"] == 0
        and request.request["generationId"] in told
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
