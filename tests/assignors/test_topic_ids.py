"""Topic ids: which one a topic without one has."""

import uuid

from assignors.group import Topic, made_id, topic_id


def test_a_made_id_is_javas_name_uuid():
    assert made_id("hello") == uuid.UUID("5d41402a-bc4b-3a76-b971-9d911017c592").bytes


def test_a_topics_own_id_comes_first():
    own = uuid.UUID(int=7)
    assert topic_id(Topic("hello", 1, id=own)) == own.bytes
    assert topic_id(Topic("hello", 1)) == made_id("hello")
