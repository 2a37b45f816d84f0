"""The names that the package has for everybody; errors are in `partitioning.errors`.

They stand in the order in which people need them. All modules are imported here at once: whoever asks for one
name of the package gets the strategies with it, because `get_assignor` knows them by name.

What a client's own consumer needs is apart: `assignors.clients.aiokafka` and `assignors.clients.kafka_python`
import that client. So are the rules for tests of your own assignor, `assignors.testing`.

A group is made of `Topic` and `Member`; `get_assignor(name).assign(group)` gives an `Assignment`, a mapping
of member id to `PartitionList`; `group.next(assignment)` is the group at its next rebalance. `explain` says
why a partition is where it is, `quality` how good the whole is. The functions that encode and decode are for
the bytes that consumers send each other.

Other kinds of groups have types of their own: a share group's answer is a `ShareAssignment`, in which members
share partitions; a streams group has tasks (`StreamsGroup`, `StreamsAssignment`); and a Connect cluster's
leader answers with a `ConnectRound`.

What a plug-in implements is `Assignor`. Two small protocols add to it: `RememberingAssignor`, if its members
send user data to their leader, and `RecordingAssignor`, if it can say why it decides as it does.
`register_assignor` makes one known by name in this process, the entry points `copartition.assignors` in every
process. `GroupState` and `MemberIdentity` are a group as somebody outside sees it, as in a capture: who has
what, and what is known of the members.

>>> group = Group([Topic("orders", 4)], [Member("a", ["orders"]), Member("b", ["orders"])])
>>> assignment = get_assignor("cooperative-sticky").assign(group)
>>> assignment["b"]
PartitionList([('orders', 1), ('orders', 3)])
"""

from assignors.connect import ConnectRound
from assignors.explanation import Explainer, Explanation, explain
from assignors.group import Assignment, AssignmentArrays, Group, Member, StickyUserData, Topic
from assignors.interface import (
    Assignor,
    Reason,
    RebalanceProtocol,
    Recorder,
    RecordingAssignor,
    RememberingAssignor,
    Step,
)
from assignors.optimal.quality import AssignmentQuality, quality
from assignors.partition_list import PartitionList
from assignors.protocol import (
    Subscription,
    decode_assignment,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
    encode_sticky_user_data,
    encode_subscription,
)
from assignors.registry import get_assignor, list_assignors, register_assignor
from assignors.share import ShareAssignment, SimpleAssignor
from assignors.state import GroupState, MemberIdentity
from assignors.streams.application import ProcessAssignment
from assignors.streams.classic_sticky import StreamsClassicStickyAssignor
from assignors.streams.high_availability import StreamsHighAvailabilityAssignor
from assignors.streams.sticky import (
    StreamsAssignment,
    StreamsGroup,
    StreamsMember,
    StreamsStickyAssignor,
    Subtopology,
)

__all__ = [  # noqa: RUF022 - in the order in which people need them
    "get_assignor",
    "Group",
    "Member",
    "Topic",
    "Assignment",
    "PartitionList",
    "explain",
    "quality",
    "list_assignors",
    "encode_subscription",
    "decode_subscription",
    "Subscription",
    "encode_assignment",
    "decode_assignment",
    "encode_sticky_user_data",
    "decode_sticky_user_data",
    "register_assignor",
    # What plug-ins implement, and what they get
    "Assignor",
    "RebalanceProtocol",
    "RememberingAssignor",
    "RecordingAssignor",
    "Recorder",
    "Reason",
    "Step",
    "StickyUserData",
    # A group as seen from outside
    "GroupState",
    "MemberIdentity",
    # Connect, share groups and streams groups
    "ConnectRound",
    "SimpleAssignor",
    "ShareAssignment",
    "StreamsStickyAssignor",
    "StreamsGroup",
    "StreamsMember",
    "Subtopology",
    "StreamsAssignment",
    "StreamsHighAvailabilityAssignor",
    "StreamsClassicStickyAssignor",
    "ProcessAssignment",
    # Results
    "AssignmentArrays",
    "AssignmentQuality",
    "Explainer",
    "Explanation",
]
