"""The rule of "uniform": `org.apache.kafka.coordinator.group.assignor.UniformAssignor` (KIP-848).

Kafka 4.4.0, as 4.1 to 4.4. Members keep as much as they may of what they have been told to consume, and sizes
are as even as can be. Racks are ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.assignment import Assignment
from assignors.reasons import Recorder, unrecorded
from assignors.rules.group_spec import GroupSpec
from assignors.rules.target_assignment import is_settled
from assignors.rules.uniform_heterogeneous import UniformHeterogeneousAssignmentBuilder
from assignors.rules.uniform_homogeneous import UniformHomogeneousAssignmentBuilder

if TYPE_CHECKING:
    from assignors.group import Group


def assign_uniform(group: Group, record: Recorder = unrecorded) -> Assignment:
    """Who gets what (`assign`), each member's list in the order of the broker's maps.

    Args:
        group: the group; a member's `owned` is its target assignment so far.
        record: is told each step.

    Raises:
        AssignorError: some member owns a partition that does not exist or that another one owns, and the JVM
            throws.
    """
    if not group.members:
        return Assignment.for_group(group, {})
    spec = GroupSpec(group)
    if spec.is_homogeneous:
        target_assignment = UniformHomogeneousAssignmentBuilder(spec, record).build()
    else:
        target_assignment = UniformHeterogeneousAssignmentBuilder(spec, record).build()
    keeps_record = frozenset(
        member
        for member, target in target_assignment.items()
        if target is spec.member_assignment[member] and not is_settled(target)
    )
    return Assignment.for_group(group, spec.lists(target_assignment), keeps_record=keeps_record)
