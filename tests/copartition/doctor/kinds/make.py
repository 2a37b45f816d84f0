"""Make share groups and Streams groups, with faults and healthy, on a broker of our own, and record them.

    python -m tests.copartition.doctor.kinds.make [NAME...]

Only those whose names begin so (share, share/held, streams/healthy), or all. Each is kept as
KIND/NAME.ndjson: a snapshot a line, one for each of two looks of `copartition doctor`. Maven fetches the
broker, Kafka 4.4.0. Members of Streams groups, and most of share groups, are made by hand: they send the
heartbeats of such members and run nothing, so that a fault comes as it is wanted; those that read are of
confluent-kafka.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from copartition.doctor.checks import findings
from copartition.doctor.kind_examination import KindExamination
from copartition.groups.kinds.live import read_other_live
from copartition.groups.kinds.model import other_group_bytes
from tests.copartition.doctor.kinds.cases import CASES, Case
from tests.copartition.doctor.kinds.limits import LIMITS
from tests.copartition.doctor.kinds.site import SETTINGS, Site
from tests.support.broker import Broker

HERE = Path(__file__).parent
VERSION = "4.4.0"


def record(broker: Broker, case: Case) -> None:
    """Make one group, look at it twice, and keep both looks."""
    site = Site(broker, group := f"{case.kind}-{case.name}")
    try:
        between = case.plant(site)
        config = {"bootstrap.servers": site.servers}
        first = read_other_live(group, config, case.kind)
        if between is not None:
            between()
        seen = KindExamination(read_other_live(group, config, case.kind), first)
    finally:
        site.close()
    assert seen.first is not None
    path = HERE / case.kind / f"{case.name}.ndjson"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(other_group_bytes(seen.first) + other_group_bytes(seen.state))
    found = [finding.check.name for finding in findings(seen, LIMITS) if finding.status == "found"]
    wanted = case.check in found if case.check else not found
    _say("ok " if wanted else "MISSED", f"{case.kind}/{case.name}: {', '.join(found)}")


def _say(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Record the groups that are asked for."""
    asked = tuple(sys.argv[1:]) or ("",)
    with Broker(SETTINGS, version=VERSION) as broker:
        for case in CASES:
            if f"{case.kind}/{case.name}".startswith(asked):
                try:
                    record(broker, case)
                except Exception:  # noqa: BLE001 - one group that cannot be made must not hide the others
                    _say("FAILED", f"{case.kind}/{case.name}")
                    traceback.print_exc()


if __name__ == "__main__":
    main()
