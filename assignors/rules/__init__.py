"""The readable form of each strategy: Java's own steps, with lists, dicts and Java's maps.

The fast twins in `assignors.columnar` give the same answers for groups that a coordinator can make.

A rule takes a group and a recorder, and returns an `Assignment`. At each decision it calls the recorder with
(partition, reason, member id). `explain` prints these records, so its reasons come from the rule itself. A
comment that begins with "Quirk" marks behaviour of the JVM or the client that a reader would not expect from
the strategy's description.
"""
