"""Watch a group over time: look at it again and again, and report each change.

`reader` asks a cluster for a group of any kind. `changes` calls it at each look, and finds the changes from
one look to the next. `report` puts changes into words, and `command` is the command `copartition watch`.
"""
