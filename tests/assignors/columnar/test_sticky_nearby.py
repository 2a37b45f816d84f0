"""Round robin among near members, against the same thing written with plain lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.columnar.numbering import Racks
from assignors.columnar.sticky import Seats, assign_nearby

RACKS = 3


def by_searching(partitions, near, rack, least, extras, size, under, exact):
    """The reference: search the lists from the cursor on for every partition."""
    size, under, exact = list(size), list(under), list(exact)
    given, rest, cursor = [], [], 0
    for partition in partitions:
        found = None
        for step in range(len(under)):
            place = (cursor + step) % len(under)
            if rack[under[place]] in near[partition]:
                found = place
                break
        if found is not None:
            member = under[found]
            size[member] += 1
            if size[member] >= least:
                under.pop(found)
                if extras:
                    exact.append(member)
                cursor = found % len(under) if under else 0
            else:
                cursor = (found + 1) % len(under)
        else:
            candidates = (candidate for candidate in exact if rack[candidate] in near[partition])
            member = next(candidates, None) if extras else None
            if member is None:
                rest.append(partition)
                continue
            exact.remove(member)
            size[member] += 1
            extras -= 1
            if not extras:
                exact.clear()
        given.append((member, partition))
    return given, rest, size, under, exact if extras else []


@settings(deadline=None)
@given(
    racks=st.lists(st.integers(-1, RACKS - 1), min_size=1, max_size=8),
    near=st.lists(st.sets(st.integers(0, RACKS - 1)), max_size=30),
    least=st.integers(1, 4),
    extras=st.integers(0, 3),
    data=st.data(),
)
def test_the_same_members_are_served(racks, near, least, extras, data):
    size = data.draw(st.lists(st.integers(0, least), min_size=len(racks), max_size=len(racks)))
    under = [member for member in range(len(racks)) if size[member] < least]
    exact = [member for member in range(len(racks)) if size[member] == least] if extras else []
    inside = np.array([[rack in near_racks for rack in range(RACKS)] for near_racks in [*near, ()]])
    seats = Seats(least, extras, np.array(size), np.array(under, np.intp), np.array(exact, np.intp))
    receivers, ids, rest = assign_nearby(
        np.arange(len(near)),
        seats,
        Racks(np.array(racks, np.int32), np.arange(len(near), dtype=np.int32), inside),
    )
    expected = by_searching(range(len(near)), near, racks, least, extras, size, under, exact)
    assert (
        list(zip(receivers.tolist(), ids.tolist(), strict=True)),
        rest.tolist(),
        seats.size.tolist(),
        seats.under.tolist(),
        seats.exact.tolist(),
    ) == expected
