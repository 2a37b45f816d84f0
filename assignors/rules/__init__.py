"""How each strategy decides, to be read: Java's steps over lists, dicts and Java's maps.

The fast twins in `assignors.columnar` give the same answers for groups that a coordinator can make.
"""
