"""Read text that command-line tools printed of a consumer group: kafka-consumer-groups and rpk.

`formats` tells the tools apart, `scan` finds tables and notices, `table` reads columns, and `group` makes a
group of the tables. `connect` reads the JSON of Kafka Connect.
"""

from copartition.groups.capture.connect import is_status
from copartition.groups.capture.formats import check_head, parse_capture

__all__ = ["check_head", "is_status", "parse_capture"]
