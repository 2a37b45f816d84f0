"""Read text that command-line tools printed of a consumer group: kafka-consumer-groups and rpk.

`formats` tells the tools apart, `paste` undoes what happened to the text on its way, `scan` finds tables and
notices, `columns` knows their columns and `table` reads them, and `group` makes a group of the tables.
`connect` reads the JSON of Kafka Connect, `others` that of other tools, or says what their texts are.
"""

from copartition.groups.capture.formats import check_head, is_json, parse_capture, parse_captures
from copartition.groups.capture.others import find_kind

__all__ = ["check_head", "find_kind", "is_json", "parse_capture", "parse_captures"]
