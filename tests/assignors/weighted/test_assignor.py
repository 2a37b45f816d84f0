"""What the weighted assignors promise."""

from dataclasses import replace

import numpy as np
import pytest

from assignors import Group, Reason, Topic, explain, get_assignor
from assignors.testing import check_assignor
from tests.assignors.optimal.groups import owning
from tests.assignors.weighted.groups import assign, cases, owners, peaks, plain
from tests.support.tiers import examples

NAMES = ("weighted", "cooperative-weighted")
WEIGHTS = {f"topic-{number}": [1, 5, 2, 0, 8, 1.5, 3] for number in range(4)}
CLOSE = 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_they_pass_the_conformance_kit_with_weights_and_a_budget(name):
    check_assignor(lambda: get_assignor(name, weights=WEIGHTS, max_moves=2))


@pytest.mark.parametrize("name", NAMES)
def test_no_answer_beats_the_bounds_and_the_peak_is_that_of_the_answer(name):
    for group, settings in cases(1, examples(700)):
        found = assign(name, group, **settings).certificate
        least = peaks(group, **settings)
        within = least[min(found.moves, len(least) - 1)]
        assert found.bound <= least[-1] * CLOSE
        assert found.bound_within_moves <= within * CLOSE
        assert least[-1] <= found.peak * CLOSE
        assert within <= found.peak * CLOSE


def test_the_peak_is_near_the_least_there_is():
    above = []
    for group, settings in cases(2, examples(700)):
        fresh = Group(group.topics, [replace(member, owned=(), user_data=None) for member in group.members])
        least = peaks(fresh, **settings)[-1]
        above.append(assign("weighted", fresh, **settings).certificate.peak / least - 1 if least else 0.0)
    assert np.mean(above) < 0.01


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("most", [0, 1, 3])
def test_moves_stay_within_the_budget(name, most):
    for group, settings in cases(3, examples(150), partitions=12):
        assert assign(name, group, **settings, max_moves=most).certificate.moves <= most


@pytest.mark.parametrize("name", NAMES)
def test_a_swap_gives_no_member_a_topic_that_it_does_not_read(name):
    """An exchange of a partition of `heavy` for one of `light` would make the loads even."""
    owned = [[(topic, 0), (topic, 1)] for topic in ("heavy", "light")]
    members = [owning("one", ["heavy"], owned[0]), owning("both", ["heavy", "light"], owned[1])]
    group = Group([Topic("heavy", 2), Topic("light", 2)], members, generation=1)
    answer = assign(name, group, weights={"heavy": [10, 10], "light": [5, 5]})
    assert [list(answer[member.id]) for member in members] == owned


def test_a_budget_is_used():
    group = plain(6, members=1)
    joined = group.next(assign("weighted", group), join=plain(6).members[1:])
    assert assign("weighted", joined, max_moves=2).certificate.moves == 2


@pytest.mark.parametrize("name", NAMES)
def test_a_budget_of_one_move_is_used_where_a_swap_gains_as_much_per_move(name):
    # 60, 50 and 10 beside 30 and 20: a swap of 60 and 20 comes to a peak of 90, the move of 50 to one of 100.
    owned = ([("t", 0), ("t", 1), ("t", 4)], [("t", 2), ("t", 3)])
    members = [owning(f"m{number}", ["t"], partitions) for number, partitions in enumerate(owned)]
    group = Group([Topic("t", 5)], members, generation=1)
    certificate = assign(name, group, weights={"t": [60, 50, 30, 20, 10]}, max_moves=1).certificate
    assert (certificate.peak, certificate.moves) == (pytest.approx(100 / 85), 1)


@pytest.mark.parametrize(("gain", "moves"), [(0.0, 3), (0.33, 3), (0.34, 0)])
def test_moves_lower_the_peak_by_the_gain(gain, moves):
    group = plain(6, members=1)
    joined = group.next(assign("weighted", group), join=plain(6).members[1:])
    assert assign("weighted", joined, min_gain=gain).certificate.moves == moves


def test_nothing_moves_without_a_change():
    for group, settings in cases(4, examples(200), members=6, partitions=20):
        answer = assign("weighted", group, **settings)
        again = assign("weighted", group.next(answer), **settings)
        assert owners(again) == owners(answer)


def test_a_cooperative_group_settles_in_two_rounds_with_the_peak_that_was_certified():
    for group, settings in cases(5, examples(200), members=6, partitions=20):
        first = assign("cooperative-weighted", group, **settings)
        second = assign("cooperative-weighted", group.next(first), **settings)
        assert not second.transferring
        assert second.certificate.peak == pytest.approx(first.certificate.peak)


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_members_and_topics_does_not_matter(name):
    rng = np.random.default_rng(6)
    for group, settings in cases(6, examples(150), members=6, partitions=20):
        members = [group.members[row] for row in rng.permutation(len(group.members))]
        shuffled = Group(group.topics[::-1], members, generation=group.generation)
        assert owners(assign(name, shuffled, **settings)) == owners(assign(name, group, **settings))


def test_alike_members_swap_when_their_ids_do():
    group = plain(7, 5, members=3)
    weights = {"t0": [1, 2, 3, 4, 5, 6, 7]}
    renamed = Group(
        group.topics, [replace(member, id=f"x{2 - row}") for row, member in enumerate(group.members)]
    )
    answers = [assign("weighted", variant, weights=weights) for variant in (group, renamed)]
    first, second = (sorted(sorted(has) for has in answer.values()) for answer in answers)
    assert first == second


def test_a_move_is_told_as_what_it_is_for():
    group = plain(6, members=1)
    joined = group.next(assign("weighted", group), join=plain(6).members[1:])
    answer = assign("weighted", joined)
    steps = explain(joined, answer, answer["m1"][0], assignor="weighted").steps
    assert steps == ((Reason.RELIEVED, "m0"), (Reason.LIGHT, "m1"))


def test_larger_members_carry_more():
    answer = assign("weighted", plain(12, members=3), capacities={"m0": 4, "m1": 1, "m2": 1})
    assert [len(answer[f"m{row}"]) for row in range(3)] == [8, 2, 2]


def test_partitions_that_weigh_nothing_go_where_the_fewest_are():
    answer = assign("weighted", plain(8, members=2), weights={"t0": [0] * 7 + [1]})
    assert sorted(len(has) for has in answer.values()) == [4, 4]


def test_weights_that_are_all_zero_are_counted():
    answer = assign("weighted", plain(7, members=3), weights={"t0": 0})
    assert sorted(len(has) for has in answer.values()) == [2, 2, 3]


def test_counting_is_certified_as_the_best():
    assert assign("weighted", plain(7, members=3)).certificate.gap == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("weights", [{"t0": 1e300, "t1": 1e-300}, {"t0": 1.7e308, "t1": 5e-324}])
def test_weights_far_apart_are_assigned_by_the_large_ones(weights):
    answer = assign("weighted", plain(4, 4), weights=weights)
    assert answer.certificate.peak == pytest.approx(1)
    assert [len(has) for has in answer.values()] == [4, 4]


def test_capacities_far_apart_leave_little_to_the_small_one():
    answer = assign("weighted", plain(5), capacities={"m0": 1e300, "m1": 1e-300})
    assert len(answer["m0"]) == 5


def test_members_beyond_the_partitions_get_nothing():
    answer = assign("weighted", plain(2, members=5), weights={"t0": [3, 1]})
    assert sorted(len(has) for has in answer.values()) == [0, 0, 0, 1, 1]
    assert answer.certificate.peak == pytest.approx(answer.certificate.bound)


@pytest.mark.parametrize("group", [plain(members=2), plain(3, members=0), plain(0, members=1)])
def test_a_group_without_anything_to_assign_has_an_empty_certificate(group):
    found = assign("weighted", group, weights={"t0": 2}).certificate
    assert (found.peak, found.bound, found.bound_within_moves, found.moves, found.gap) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("data", [b"", b"\xff", b"\0\0\0\1\0\1t", b"\0" * 40])
def test_foreign_and_cut_user_data_count_as_no_memory(data):
    group = plain(6, members=2)
    told = Group(group.topics, [replace(member, user_data=data) for member in group.members])
    assert owners(assign("weighted", told)) == owners(assign("weighted", group))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_explained_step_by_step(name):
    group, settings = cases(7, 1)[0]
    assignor = get_assignor(name, **settings)
    answer = assignor.assign(group)
    for partition, member in owners(answer).items():
        assert explain(group, answer, partition, assignor=assignor).steps[-1].member == member
