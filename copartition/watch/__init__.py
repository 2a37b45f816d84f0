"""A group over time: looks at it, the changes between them, and the record that is kept.

`changes` looks at a group and tells steps apart, `report` puts changes into words, `command` is what people
call.
"""
