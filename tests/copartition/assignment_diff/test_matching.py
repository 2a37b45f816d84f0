"""Which member before is which member after."""

import numpy as np
import pytest

from assignors.state import GroupState, MemberIdentity
from copartition.assignment_diff import DiffError, Rename, diff


def group(*members, topics=1):
    """Members with their partitions: (identity, "0 1")."""
    rows = [
        (number, int(partition)) for number, (_, text) in enumerate(members) for partition in text.split()
    ]
    member, partition = np.array(rows, np.int32).reshape(-1, 2).T
    identities = tuple(identity for identity, _ in members)
    return GroupState(identities, ("t",), member, np.zeros(len(member), np.int32), partition)


def pairs(found):
    return {(member.before_id, member.after_id, member.rule) for member in found.members}


A1 = MemberIdentity("a-1", instance_id="pod-a", client_id="a", host="10.0.0.1")
A2 = MemberIdentity("a-2", instance_id="pod-a", client_id="a", host="10.0.0.1")
B1 = MemberIdentity("b-1", client_id="b", host="10.0.0.2")
B2 = MemberIdentity("b-2", client_id="b", host="10.0.0.3")
C1 = MemberIdentity("c-1", client_id="app")
D1 = MemberIdentity("d-1", client_id="app")
NEW = MemberIdentity("n-1", client_id="n")


def test_a_restart_of_a_static_member_changes_nothing():
    found = diff(group((A1, "0 1"), (B1, "2")), group((A2, "0 1"), (B1, "2")))
    assert found.same
    assert pairs(found) == {("a-1", "a-2", "instance-id"), ("b-1", "b-1", "client-id")}
    assert found.matching.rule == "instance-id, client-id"


def test_a_client_id_that_is_unique_on_both_sides_survives_a_restart():
    assert pairs(diff(group((B1, "0")), group((B2, "0")))) == {("b-1", "b-2", "client-id")}


def test_a_client_id_shared_by_all_falls_back_to_the_member_id():
    found = diff(group((C1, "0"), (D1, "1")), group((C1, "0"), (D1, "1")))
    assert pairs(found) == {("c-1", "c-1", "member-id"), ("d-1", "d-1", "member-id")}


def test_members_with_most_partitions_in_common_are_taken_for_one_and_reported():
    found = diff(group((C1, "0 1 2 3"), (D1, "4 5")), group((MemberIdentity("x"), "0 1 2"), (D1, "4 5 3")))
    assert found.matching.renames == (Rename("c-1", "x", 75),)
    assert found.summary.moved == 1


def renamed(owners):
    """One client id, a host each, new member ids; each host's new partitions."""
    before = [
        (MemberIdentity(f"old-{host}", client_id="app", host=f"10.0.0.{host}"), f"{host}")
        for host in range(3)
    ]
    after = [
        (MemberIdentity(f"new-{host}", client_id="app", host=f"10.0.0.{host}"), owners[host])
        for host in range(3)
    ]
    return diff(group(*before), group(*after))


def test_hosts_that_are_unique_tell_restarted_members_apart():
    assert renamed("012").same
    assert renamed("012").matching.rule == "host"


def test_each_host_handing_all_to_the_next_moves_everything():
    found = renamed("120")
    assert not found.same
    assert found.summary.moved == 3
    assert found.matching.renames == ()


def test_a_host_of_two_members_tells_nothing():
    old, new = (
        [
            (MemberIdentity(f"{side}-{number}", client_id="app", host="one"), f"{number}")
            for number in range(2)
        ]
        for side in ("old", "new")
    )
    assert diff(group(*old), group(*new)).matching.rule == "overlap"


def test_a_host_does_not_overrule_a_member_id():
    before = group((MemberIdentity("m-1", host="one"), "0"), (MemberIdentity("m-2", host="two"), "1"))
    after = group((MemberIdentity("m-1", host="two"), "0"), (MemberIdentity("m-2", host="one"), "1"))
    assert pairs(diff(before, after)) == {("m-1", "m-1", "member-id"), ("m-2", "m-2", "member-id")}


def test_a_match_by_overlap_alone_is_a_difference():
    found = diff(group((C1, "0")), group((MemberIdentity("x"), "0")))
    assert found.matching.renames == (Rename("c-1", "x", 100),)
    assert not found.action.any()
    assert not found.same


def test_a_small_overlap_is_no_rename():
    found = diff(group((MemberIdentity("m"), "0 1 2 3 4")), group((NEW, "0 1"), (B1, "2 3"), (D1, "4")))
    assert found.matching.renames == ()
    assert found.summary.members_joined == 3


def test_every_member_is_renamed_once_and_the_best_pair_goes_first():
    before = group((MemberIdentity("p"), "0 1 2 3"), (MemberIdentity("q"), "4 5"))
    after = group((MemberIdentity("x"), "0 1 2 4"), (MemberIdentity("y"), "5"))
    assert diff(before, after).matching.renames == (Rename("p", "x", 75), Rename("q", "y", 50))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("instance-id", {("a-1", "a-2", "instance-id")}),
        ("client-id", {("a-1", "a-2", "client-id")}),
        ("host", {("a-1", "a-2", "host")}),
        ("member-id", {("a-1", None, None), (None, "a-2", None)}),
        ("overlap", {("a-1", "a-2", "overlap")}),
    ],
)
def test_a_rule_can_be_asked_for(rule, expected):
    assert pairs(diff(group((A1, "0")), group((A2, "0")), match=rule)) == expected


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ("client-id", "2 members before have 'app'"),
        ("instance-id", "member 'c-1' before has none"),
        ("host", "member 'c-1' before has none"),
        ("name", "unknown match rule 'name'; choose one of auto, instance-id"),
    ],
)
def test_a_rule_that_cannot_decide_is_refused(rule, fault):
    with pytest.raises(DiffError, match=fault):
        diff(group((C1, "0"), (D1, "1")), group((B1, "0")), match=rule)


@pytest.mark.parametrize(
    ("members", "names"),
    [
        ((A1, B1), ["b", "pod-a"]),
        ((C1, D1), ["c-1", "d-1"]),
        ((MemberIdentity("m", client_id="same"), MemberIdentity("same")), ["m", "same"]),
    ],
)
def test_members_have_short_names_that_differ(members, names):
    state = group(*((member, "") for member in members))
    assert sorted(member.name for member in diff(state, state).members) == names


def test_the_same_id_for_two_different_members_is_told_apart():
    old, new = MemberIdentity("m", host="1"), MemberIdentity("m", host="2")
    names = {member.name for member in diff(group((old, "0")), group((new, "0")), match="host").members}
    assert names == {"m (before)", "m (after)"}
