"""The names that the package has for everybody; errors are in `partitioning.errors`."""

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
