"""`copartition why live:GROUP` on a real broker: what it keeps of a group is what its clients did."""

from __future__ import annotations

import json
import uuid

import pytest
from click.testing import CliRunner

from copartition.shell.main import copartition
from tests.support.tiers import sample
from tools.oracle.offsets_topic import PROTOCOLS, life


@pytest.mark.sampled
@pytest.mark.parametrize("protocol", sample(PROTOCOLS, before_ci=2))
def test_the_topic_says_what_clients_did(broker, protocol):
    topic, group = broker.create_topic(2), f"history-{uuid.uuid4()}"
    life(broker, group, topic, protocol)
    answer = CliRunner().invoke(
        copartition, ["why", f"live:{group}", "-b", broker.bootstrap_servers, "-o", "json"]
    )
    assert answer.exit_code == 1, answer.output
    [history] = json.loads(answer.stdout)["groups"]
    changes = [
        (rebalance["cause"], rebalance["member"], rebalance["names"])
        for rebalance in history["rebalances"]
        if rebalance["member"]
    ]
    # Where compaction removed records of other groups before, it is unknown who was in the first generation.
    assert changes[-3:] == [
        ("joined", "c1", ["c0", "c1"]),
        ("left or failed", "c1", ["c0"]),
        ("left or failed", "c0", []),
    ]
    assert history["protocol"] == protocol
    assert [other["what"] for other in history["others"]] == [
        f"{topic}-1: 3 commits, first 3, last 4, largest step 7, 1 backward, 0 deleted"
    ]
