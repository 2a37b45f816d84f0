"""Gather the names that the package `copartition.groups` offers to its users."""

from copartition.groups.capture import parse_capture as parse_capture
from copartition.groups.live import read_live as read_live
from copartition.groups.snapshot import parse_snapshot as parse_snapshot
from copartition.groups.snapshot import snapshot_bytes as snapshot_bytes
from copartition.groups.source import OtherSource as OtherSource
from copartition.groups.source import Source as Source
from copartition.groups.source import read_any_source as read_any_source
from copartition.groups.source import read_source as read_source
from copartition.groups.source import step_state as step_state
