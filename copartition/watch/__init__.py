"""A group over time: looks at it, the changes between them, and the record that is kept.

`reader` asks a cluster for a group of any kind, `changes` looks at it and tells steps apart, `report` puts
changes into words, `command` is what people call.
"""
