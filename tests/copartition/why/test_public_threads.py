"""What `why` answers to lines that people pasted into public issues; docs/why.md has the table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from copartition.why.rebalances import histories
from copartition.why.statements import read_statements

FOLDER = Path(__file__).parent / "threads"
TEXT = (Path(__file__).parents[3] / "docs" / "why.md").read_text(encoding="utf-8")
# A row: | [repository#number](address) | what was pasted | causes | how the thread ended |
ROWS = re.findall(r"(?m)^\| \[(\S+)#(\d+)\]\(https://\S+?\) \| [^|]+ \| ([^|]+) \| [^|]+ \|$", TEXT)


def test_every_thread_has_a_row_and_lines() -> None:
    named = {f"{repository.rpartition('/')[2].lower()}-{number}" for repository, number, _ in ROWS}
    assert named == {path.stem for path in FOLDER.glob("*.log")}
    assert len(ROWS) >= 12


@pytest.mark.parametrize(("repository", "number", "causes"), ROWS)
def test_the_answer_is_that_of_the_table(repository: str, number: str, causes: str) -> None:
    path = FOLDER / f"{repository.rpartition('/')[2].lower()}-{number}.log"
    groups = histories(read_statements([str(path)]))
    answered = [f"{rebalance.cause.value}" for group in groups for rebalance in group.rebalances]
    assert ", ".join(answered) == causes


@pytest.mark.parametrize(
    "line",
    [
        '{"level":"info","msg":"heartbeat errored","group":"g","err":"REBALANCE_IN_PROGRESS"}',  # franz-go
        "11:13:02.387 [info] Group member (test_consumer,coor=#PID<0.1077.0>,generation=18):",  # brod
    ],
)
def test_a_client_that_is_not_read_is_no_answer(tmp_path: Path, line: str) -> None:
    path = tmp_path / "client.log"
    path.write_text(line + "\n")
    reading = read_statements([str(path)])
    assert histories(reading) == []
    assert reading.unread is not None
    assert reading.unread.program in {"franz-go", "brod"}
