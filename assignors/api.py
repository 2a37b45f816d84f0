"""The names that the package has for everybody."""

from assignors.assignment import Assignment, AssignmentArrays
from assignors.explain import Explainer, Explanation, explain
from assignors.group import Group, Member, StickyUserData, Topic
from assignors.interface import Assignor, RebalanceProtocol, RecordingAssignor, RememberingAssignor
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
from assignors.reasons import Reason, Recorder, Step
from assignors.registry import get_assignor, list_assignors, register_assignor
from assignors.rules.connect import ConnectRound
from assignors.share import ShareAssignment, SimpleAssignor
from assignors.state import GroupState, MemberIdentity
from assignors.streams import (
    StreamsAssignment,
    StreamsGroup,
    StreamsMember,
    StreamsStickyAssignor,
    Subtopology,
)
from partitioning.errors import (
    AssignmentError,
    AssignorError,
    InvalidGroupError,
    ProtocolError,
)

__all__ = [
    "Assignment",
    "AssignmentArrays",
    "AssignmentError",
    "AssignmentQuality",
    "Assignor",
    "AssignorError",
    "ConnectRound",
    "Explainer",
    "Explanation",
    "Group",
    "GroupState",
    "InvalidGroupError",
    "Member",
    "MemberIdentity",
    "PartitionList",
    "ProtocolError",
    "Reason",
    "RebalanceProtocol",
    "Recorder",
    "RecordingAssignor",
    "RememberingAssignor",
    "ShareAssignment",
    "SimpleAssignor",
    "Step",
    "StickyUserData",
    "StreamsAssignment",
    "StreamsGroup",
    "StreamsMember",
    "StreamsStickyAssignor",
    "Subscription",
    "Subtopology",
    "Topic",
    "decode_assignment",
    "decode_sticky_user_data",
    "decode_subscription",
    "encode_assignment",
    "encode_sticky_user_data",
    "encode_subscription",
    "explain",
    "get_assignor",
    "list_assignors",
    "quality",
    "register_assignor",
]
