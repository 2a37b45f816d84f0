"""What comes to each partition, from the counts that `copartition audit -o json` writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from assignors.files import read_text
from partitioning.errors import ScenarioError
from partitioning.kit.formats import decode_json
from partitioning.kit.limits import MAX_FILE_BYTES

_WRITE = "write one with copartition audit TOPIC --since TIME -o json"


def audited_rates(name: str, folder: Path) -> dict[str, list[float]]:
    """Records a second that came to each partition of the topics of an audit: its counts over its time.

    The file is looked for in the folder, then in the working directory. Raises `ScenarioError` where it is no
    audit, or counts something else than what came.
    """
    file = folder / name if (folder / name).is_file() else Path(name)
    try:
        document = decode_json(read_text(file, MAX_FILE_BYTES))
        return {audit["topic"]: _rates(audit) for audit in document["topics"]}
    except OSError as error:
        fault = error.strerror or str(error)
    except ScenarioError as error:
        fault = str(error)
    except (ValueError, LookupError, TypeError):
        fault = f"this is no audit; {_WRITE}"
    raise ScenarioError(f"{file}: {fault}", path="$.load.rate")


def _rates(audit: Mapping[str, Any]) -> list[float]:
    topic, kind, spans = audit["topic"], audit["coverage"]["kind"], audit["spans"]
    if audit["compacted"] or kind not in {"full", "since"}:
        what = "the topic is compacted" if audit["compacted"] else f"it read a part only ({kind})"
        raise ScenarioError(f"the records of {topic!r} in it are not all that came: {what}; {_WRITE}")
    times = [span[end] for span in spans for end in ("first_ms", "last_ms") if span[end] is not None]
    if not times or max(times) == min(times):
        raise ScenarioError(f"the records of {topic!r} in it do not tell how long they took to come")
    partitions, rows = [span["partition"] for span in spans], [span["rows"] for span in spans]
    counts = np.bincount(partitions, rows, audit["num_partitions"])
    rates: list[float] = (counts / (max(times) - min(times)) * 1000).tolist()
    return rates
