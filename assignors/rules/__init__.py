"""Each strategy decides in steps that are easy to read: Java's, over lists, dicts and Java's maps.

The fast twins in `assignors.columnar` give the same answers for groups that a coordinator can make.

A rule takes a group and a recorder and returns an `Assignment`. It calls the recorder with (partition,
reason, member id) at each decision, in the order of decisions: what `explain` tells is told by the rule
itself. A comment that begins with "Quirk" marks what the JVM or the client does that nobody would expect of
the strategy.
"""
