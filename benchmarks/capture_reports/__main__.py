"""Write the table of captures in public reports.

python -m benchmarks.capture_reports
"""

import json
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent / "capture_reports.md"
HEAD = """# Captures in public reports

What `assignment-diff FILE` answers to captures of groups as people pasted them in public threads. The inputs
in `capture_reports/inputs` have the facts and the layout of each report in few rows, with other names and
ids. All were looked up after the reader was done; *at first* is its answer as it stood then, *now* after what
failed was mended as a kind.

Right: the answer is true. Partly: it is true and does not say what the report is
about, or takes an excerpt for the whole. Misleading: it looks right and is not. Refused well: no answer, and
the reason names what the text is or what is missing; refused badly: the reason helps nobody.
`tests/benchmarks/test_capture_reports.py` holds each answer; `python -m benchmarks.capture_reports` writes
this page.

"""


def page(reports: list[dict[str, object]]) -> str:
    """The page: how many of each kind, then a row for each report."""
    columns = ("at_first", "now")
    judged = [Counter(str(report[column]) for report in reports) for column in columns]
    kinds = ["right", "refused well", "partly", "refused badly", "misleading"]
    counts = ["| | at first | now |", "|---|--:|--:|"]
    counts += [f"| {kind} | {' | '.join(str(counted[kind]) for counted in judged)} |" for kind in kinds]
    counts.append(f"| **all** | {' | '.join(str(counted.total()) for counted in judged)} |")
    rows = ["| report | what it is | answer | exit | at first | now |", "|---|---|---|--:|---|---|"]
    rows += [
        f"| {report['report']} | {report['what']} | {report['answer']} | {report['exit_code']} "
        f"| {report['at_first']} | {report['now']} |"
        for report in reports
    ]
    return HEAD + "\n".join([*counts, "", *rows, ""])


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(json.loads((HERE / "reports.json").read_text())))


if __name__ == "__main__":
    main()
