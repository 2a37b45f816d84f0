"""The group of the consumer protocol answers as the broker's own coordinator does, request by request."""

import pytest

from tests.support.golden import golden_lines
from tests.support.heartbeats import Replay, differences

pytestmark = pytest.mark.sampled


@pytest.mark.parametrize("family", ["members", "static", "patterns", "migration"])
def test_every_request_is_answered_as_the_coordinator_answers_it(family):
    for case in golden_lines(f"coordinator/{family}", every=20):
        assert next(differences(case), None) is None


@pytest.mark.heavy
def test_a_group_is_downgraded_when_its_last_member_of_the_consumer_protocol_is_gone():
    downgraded = 0
    for case in golden_lines("coordinator/migration"):
        replay = Replay(case)
        for step, told in zip(case["steps"], case["told"], strict=True):
            replay.take(step)
            if replay.group.only_classic:
                downgraded += told["group"]["type"] == "classic"
                break
            assert told["group"]["type"] == "consumer" or not replay.group.members, case["name"]
    assert downgraded > 20
