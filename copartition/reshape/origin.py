"""Name the header in which each copied record says where it was in the old topic.

The copy appends one header to each record: key `HEADER`, value `PARTITION:OFFSET` of the old topic in ASCII
digits, so that `kcat -f '%h'` and Kafka's console consumer show it to a person. A topic may be reshaped
twice: then a record has two of these headers, and the last one counts.

It stands alone, so that who only needs the name imports neither Spark nor a client.
"""

HEADER = "copartition.origin"
"""Key of the header that each copied record has."""
