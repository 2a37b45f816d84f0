"""Read the answer of Kafka Connect's REST interface to `GET /connectors?expand=status` (KIP-465).

Workers are members here. A connector is a topic, and its tasks are that topic's partitions. The connector
itself is partition 0 of a topic named "connector:" and its name. The strategies of Connect in `assignors` use
the same names.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from assignors.connect import CONNECTOR
from assignors.state import CONNECT, GroupState, MemberIdentity
from copartition.groups.capture.table import AGAIN
from copartition.groups.rows import Rows
from copartition.kit.words import first_of
from partitioning.errors import SourceError
from partitioning.kit.formats import decode_json
from partitioning.kit.limits import MAX_ID, MAX_PARTITION, MAX_TOPIC_NAME, check_partitions
from partitioning.kit.packages import needs

with needs("the status of Kafka Connect's connectors", "cli"):
    import msgspec

_HEAD = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.){1,300}"\s*:\s*\{\s*"(?:status|info)"\s*:\s*\{')
"""Pattern of the beginning of such an answer: a connector's name, and an object with "status" or "info"."""
_NOBODYS = {"UNASSIGNED", "DESTROYED"}
"""States of a connector or task in which the named worker does not run it any more."""

_Id = Annotated[str, msgspec.Meta(max_length=MAX_ID)]


class _Connector(msgspec.Struct):
    """Holds the state of a connector or a task, by Connect's name, and the id of the worker that runs it."""

    state: str
    worker_id: _Id


class _Task(_Connector):
    """Holds a task, with its number within the connector, from 0 on."""

    id: Annotated[int, msgspec.Meta(ge=0, le=MAX_PARTITION)]


class _Status(msgspec.Struct):
    """Holds a connector with its tasks, as `GET /connectors/NAME/status` returns them."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TOPIC_NAME - len(CONNECTOR))]
    connector: _Connector
    tasks: list[_Task]


class _ExpandedStatus(msgspec.Struct):
    """Holds the value that the answer has for a connector's name; keys other than "status" are skipped."""

    status: _Status


def is_status(text: str) -> bool:
    """Return True if a text is an answer to `GET /connectors?expand=status`, judged by its beginning."""
    return bool(_HEAD.match(text))


def connector_answer(value: Any) -> GroupState | None:
    """Return the workers in an answer to `GET /connectors/NAME/status`; None for any other value.

    The answer is about one connector and does not show the cluster's others. The state assumes that
    there are none.
    """
    try:
        status = msgspec.convert(value, _Status)
    except msgspec.MsgspecError:
        return None
    only = f"the answer is of the connector {status.name!r} alone; the cluster is taken to have no other"
    return replace(_workers([status]), assumed=(only,))


def parse_status(text: str) -> GroupState:
    """Return the workers as members, with the connectors and tasks that each one runs.

    Workers without a connector or task are not in the answer, so the members are not complete.

    Raises:
        SourceError: the text is cut off or of another form, a connector has a task twice, or there are more
            partitions than this project handles.
    """
    try:
        answer = msgspec.convert(decode_json(text), dict[str, _ExpandedStatus])
    except (ValueError, msgspec.MsgspecError) as error:
        raise SourceError(f"no whole answer to GET /connectors?expand=status: {error}; {AGAIN}") from error
    return _workers([expanded.status for expanded in answer.values()])


def _workers(statuses: Sequence[_Status]) -> GroupState:
    """Return the workers of these connectors and their tasks; see `parse_status`."""
    check_partitions(sum(1 + len(status.tasks) for status in statuses), SourceError, "the Connect cluster")
    rows, troubled, gaps = Rows(), [], []
    running = [task for status in statuses for task in (status.connector, *status.tasks)]
    # Members are added before their partitions, in the order in which the answer names them.
    for worker in dict.fromkeys(task.worker_id for task in running if task.state not in _NOBODYS):
        rows.member(MemberIdentity(worker))
    for status in statuses:
        instance = (f"{CONNECTOR}{status.name}", 0, status.connector)
        # A task that is listed twice may have two workers. It is unknown which of them runs the task.
        numbers = [task.id for task in status.tasks]
        if twice := [number for number, count in Counter(numbers).items() if count > 1]:
            raise SourceError(f"connector {status.name!r} has task {twice[0]} twice; {AGAIN}")
        # Connect numbers tasks from 0 on. A missing number is a task whose worker the answer does not show.
        if len(numbers) <= max(numbers, default=-1):
            gaps.append(f"{status.name} shows {len(numbers)} of {max(numbers) + 1} tasks")
        for topic, number, unit in (instance, *((status.name, task.id, task) for task in status.tasks)):
            rows.partition(topic, number, None if unit.state in _NOBODYS else unit.worker_id)
            # A failed task still belongs to its worker: Connect does not move it in a rebalance.
            if unit.state not in {"RUNNING", "PAUSED", "STOPPED", *_NOBODYS}:
                troubled.append(f"{topic}-{number} is {unit.state}")
    warnings = [f"{first_of(troubled, 5)}; counted as their worker's all the same"] if troubled else []
    if gaps:
        warnings.append(f"{first_of(gaps, 5)}; ask again when every task has a status, to know the others")
    state = rows.state(complete=not gaps, members_complete=False, warnings=tuple(warnings))
    return replace(state, protocol=CONNECT)
