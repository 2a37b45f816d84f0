"""A group of a running cluster, read and never written."""

from copartition.groups.live.reader import read_live as read_live
