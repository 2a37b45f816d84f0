"""The client id in a member id."""

import pytest

from assignors.group import name_in

MADE = "-01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize(
    ("member_id", "name"),
    [
        pytest.param(f"consumer-group-1{MADE}", "consumer-group-1", id="client"),
        pytest.param(f"client{MADE}{MADE}", f"client{MADE}", id="client-that-ends-with-a-uuid"),
        pytest.param(f"two\nlines{MADE}", "two\nlines", id="line-break"),
        pytest.param(MADE, None, id="no-client"),
        pytest.param(MADE[1:], None, id="uuid-alone"),
        pytest.param("consumer-1", None, id="too-short"),
        pytest.param(f"client{MADE.upper()}", None, id="upper-case"),
        pytest.param(f"client{MADE}\n", None, id="line-break-behind"),
        pytest.param("", None, id="empty"),
    ],
)
def test_the_client_id_is_what_a_coordinator_put_its_uuid_behind(member_id, name):
    assert name_in(member_id) == name
