"""Read text that command-line tools printed of a consumer group: kafka-consumer-groups and rpk.

The modules in the order in which a text passes through them:

- `formats` finds out which tool printed the text.
- `paste` and `wrapped` undo what terminals, tickets and chats have done to it.
- `scan` finds tables and notices in the text; `columns` has the columns of tables; `table` reads their rows.
- `group` makes a group of the tables. It refuses a capture that was cut, and warns of what tools hide.
- `connect` reads the JSON of Kafka Connect. `others` reads the JSON of other tools, and names the tool in the
  error for a text that cannot be read.
"""

from copartition.groups.capture.formats import check_head, is_json, parse_capture, parse_captures
from copartition.groups.capture.others import find_kind

__all__ = ["check_head", "find_kind", "is_json", "parse_capture", "parse_captures"]
