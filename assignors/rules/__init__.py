"""Each strategy decides in steps that are easy to read: Java's, over lists, dicts and Java's maps.

The fast twins in `assignors.columnar` give the same answers for groups that a coordinator can make.
"""
