"""Text files as people keep them."""

import gzip
import io
import zipfile

import pytest

from assignors.files import decode_text, read_text
from partitioning.errors import SourceError


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_says_what_the_text_is_in(encoding):
    assert decode_text("TOPIC ä\n".encode(encoding)) == "TOPIC ä\n"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_known_without_its_mark(encoding):
    assert decode_text("TOPIC ä\n".encode(encoding)) == "TOPIC ä\n"


def test_utf_16_of_the_other_byte_order_is_read():
    assert decode_text(b"\xfe\xff" + "ä".encode("utf-16-be")) == "ä"


def zipped():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("group.txt", "TOPIC")
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (gzip.compress(b"TOPIC", mtime=0), r"compressed \(gzip\); unpack it first"),
        (zipped(), r"compressed \(zip\); unpack it first"),
        (b"abc\0def", "binary, character 3 is a null"),
        ("ä".encode("latin-1"), "not UTF-8 text .*0xe4.*; save it as UTF-8"),
        (b"\xff\xfe\x00", "not UTF-16 text"),
    ],
)
def test_what_is_no_text_is_told_in_its_own_words(content, fault):
    with pytest.raises(SourceError, match=fault):
        decode_text(content)


def test_no_more_than_the_limit_is_read():
    with pytest.raises(SourceError, match="more than 1,000 bytes"):
        read_text("/dev/zero", 1_000)


def test_standard_input_is_a_file_like_others(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("ä".encode("utf-16"))))
    assert read_text(None) == "ä"
