"""Topic ids, by which the broker decides."""

from __future__ import annotations

import hashlib
import uuid
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assignors.group import Topic


def topic_id(topic: Topic) -> bytes:
    """The topic's id, 16 bytes, or where it has none a stable one made from its name."""
    return made_id(topic.name) if topic.id is None else topic.id.bytes


@lru_cache(maxsize=1 << 16)
def made_id(name: str) -> bytes:
    """The id a topic's name stands for: Java's `UUID.nameUUIDFromBytes` of the name in UTF-8."""
    digest = hashlib.md5(name.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return uuid.UUID(bytes=digest, version=3).bytes
