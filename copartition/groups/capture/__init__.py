"""What command-line tools print of a consumer group: kafka-consumer-groups and rpk."""

from copartition.groups.capture.connect import is_status
from copartition.groups.capture.formats import check_head, parse_capture

__all__ = ["check_head", "is_status", "parse_capture"]
