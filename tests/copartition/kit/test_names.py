"""Names where there is little room."""

import pytest

from copartition.kit.words import common_prefix, without_ids


@pytest.mark.parametrize(
    ("names", "prefix"),
    [
        (["billing-service-1", "billing-service-2", "billing-service-30"], "billing-service-"),
        (["billing-service-ab1", "billing-service-ab2", "billing-service-ab3"], "billing-service-"),
        (["billing-service-", "billing-service-1", "billing-service-2"], ""),
        (["billing-service-1", "billing-service-2"], ""),
        (["worker-1", "worker-2", "worker-3"], ""),
        (["billingservice1", "billingservice2", "billingservice3"], ""),
        (["consumers.eu.west:1", "consumers.eu.west:2", "consumers.eu.east:1"], "consumers.eu."),
        ([], ""),
    ],
)
def test_what_all_names_begin_with_ends_with_a_word(names, prefix):
    assert common_prefix(names) == prefix


IDS = ["5a0a401a-9ac4-401a-9ac4-e81ad2c37e78", "5a0a401b-9ac4-401a-9ac4-e81ad2c37e78"]


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ([f"app-{suffix}" for suffix in IDS], ["app-5a0a401a..", "app-5a0a401b.."]),
        (IDS, ["5a0a401a..", "5a0a401b.."]),
        (["app-1", f"app-2-{IDS[0]}"], ["app-1", "app-2-5a0a401a.."]),
        ([IDS[0], IDS[0].replace("e8", "e9")], None),
        ([f"{IDS[0]}-app"], None),
    ],
)
def test_of_ids_the_first_part_is_enough_where_it_tells_them_apart(names, shown):
    assert [*without_ids({str(key): name for key, name in enumerate(names)}).values()] == (shown or names)
