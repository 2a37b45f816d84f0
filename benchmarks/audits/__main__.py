"""Topics of real clients, audited and joined: `python -m benchmarks.audits`.

The clients write their topics to a broker, and all that is there is read: `recorded.parquet`, and
`measured.json` with what was written up to where. With `--compare` neither broker nor client is needed, nor a
network: what was recorded is audited, its pairs are checked, and `benchmarks/audits.md` says what came of it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.audits.asking import audit
from benchmarks.audits.cells import CELLS
from benchmarks.audits.comparing import AuditBesideTruth
from benchmarks.audits.page import page
from benchmarks.audits.recording import phase_ends, record, record_topics
from benchmarks.audits.truth import Written

COMPARED = Path(__file__).parents[1] / "audits.md"


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.audits", description=__doc__)
    options.add_argument("--compare", action="store_true", help="only audit again what was recorded")
    if not options.parse_args().compare:
        record(CELLS)
    COMPARED.write_text(page([AuditBesideTruth(topic, audit(topic)) for topic in written()]))


def written() -> list[Written]:
    """The topics that were recorded."""
    tables, ends = record_topics(), phase_ends()
    return [Written.of(cell, tables[cell.topic], ends[cell.topic]) for cell in CELLS]


if __name__ == "__main__":
    main()
