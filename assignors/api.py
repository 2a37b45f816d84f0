"""Holds the public names of the package; errors are in `partitioning.errors`.

The names are in the order in which people need them. All modules are imported here at once: the first use of
any name loads all strategies, because `get_assignor` knows them by name.

Two parts of the package are not imported here. `assignors.clients.aiokafka` and
`assignors.clients.kafka_python` run assignors in consumers of a client, which they import.
`assignors.testing` has the rules for tests of your own assignor.

A group is made of `Topic` and `Member`. `get_assignor(name).assign(group)` returns an `Assignment`, a mapping
of member id to `PartitionList`. `group.next(assignment)` returns the group at its next rebalance. `explain`
says why a partition has its owner, and `quality` how good an assignment is. The functions that encode and
decode are for the bytes that consumers send each other.

Other kinds of groups have types of their own: a share group's answer is a `ShareAssignment`, in which members
share partitions; a streams group has tasks (`StreamsGroup`, `StreamsAssignment`); and a Connect cluster's
leader answers with a `ConnectRound`.

A plug-in implements the protocol `Assignor`. It also implements `RememberingAssignor` if its members send
user data to their leader, and `RecordingAssignor` if it can say why it decides as it does.
`register_assignor` makes an assignor known by name in this process. An entry point of the group
`copartition.assignors` makes it known in every process. `GroupState` and `MemberIdentity` describe a group as
it is seen from outside, for example in a capture: the partitions of each member, and what is known of the
members.

>>> group = Group([Topic("orders", 4)], [Member("a", ["orders"]), Member("b", ["orders"])])
>>> assignment = get_assignor("cooperative-sticky").assign(group)
>>> assignment["b"]
PartitionList([('orders', 1), ('orders', 3)])
"""

from assignors.registry import get_assignor as get_assignor
from assignors.group import Group as Group
from assignors.group import Member as Member
from assignors.group import Topic as Topic
from assignors.assignment import Assignment as Assignment
from assignors.partition_list import PartitionList as PartitionList
from assignors.explanation import explain as explain
from assignors.optimal.quality import quality as quality
from assignors.registry import list_assignors as list_assignors
from assignors.protocol import encode_subscription as encode_subscription
from assignors.protocol import decode_subscription as decode_subscription
from assignors.protocol import Subscription as Subscription
from assignors.protocol import encode_assignment as encode_assignment
from assignors.protocol import decode_assignment as decode_assignment
from assignors.protocol import encode_sticky_user_data as encode_sticky_user_data
from assignors.protocol import decode_sticky_user_data as decode_sticky_user_data
from assignors.registry import register_assignor as register_assignor

# Protocols that plug-ins implement, and types that plug-ins get
from assignors.interface import Assignor as Assignor
from assignors.interface import RebalanceProtocol as RebalanceProtocol
from assignors.interface import RememberingAssignor as RememberingAssignor
from assignors.interface import RecordingAssignor as RecordingAssignor
from assignors.interface import Recorder as Recorder
from assignors.interface import Reason as Reason
from assignors.interface import Step as Step
from assignors.group import StickyUserData as StickyUserData

# A group as seen from outside
from assignors.state import GroupState as GroupState
from assignors.state import MemberIdentity as MemberIdentity

# Connect, share groups and streams groups
from assignors.connect import ConnectRound as ConnectRound
from assignors.share import SimpleAssignor as SimpleAssignor
from assignors.share import ShareAssignment as ShareAssignment
from assignors.streams.sticky import StreamsStickyAssignor as StreamsStickyAssignor
from assignors.streams.sticky import StreamsGroup as StreamsGroup
from assignors.streams.sticky import StreamsMember as StreamsMember
from assignors.streams.sticky import Subtopology as Subtopology
from assignors.streams.sticky import StreamsAssignment as StreamsAssignment
from assignors.streams.high_availability import (
    StreamsHighAvailabilityAssignor as StreamsHighAvailabilityAssignor,
)
from assignors.streams.classic_sticky import StreamsClassicStickyAssignor as StreamsClassicStickyAssignor
from assignors.streams.application import ProcessAssignment as ProcessAssignment

# Results
from assignors.assignment import AssignmentArrays as AssignmentArrays
from assignors.optimal.quality import AssignmentQuality as AssignmentQuality
from assignors.explanation import Explainer as Explainer
from assignors.explanation import Explanation as Explanation
