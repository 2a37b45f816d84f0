"""Reads records, processes them and writes the results exactly once, by the clients of confluent-kafka.

`docs/read-process-write.md` describes it.

`loop` is the function that a program calls, `member` keeps what was read and not processed yet, and
`settings` says what exactly once requires of the clients.
"""

from partitioning.clients import confluent as _confluent  # noqa: F401 - says what to install if it is missing
from partitioning.clients.read_process_write.loop import ProducerRecord, read_process_write

__all__ = ["ProducerRecord", "read_process_write"]
