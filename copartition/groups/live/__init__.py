"""Read a group of a running cluster; nothing is ever written to the cluster."""

from copartition.groups.live.reader import read_live as read_live
