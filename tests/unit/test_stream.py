"""Streams: members of archives, lines in blocks, and what stands at the start of a file."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sma_gpu.errors import ParseError
from sma_gpu.ontologies import stream
from sma_gpu.ontologies.report import LoadReport
from sma_gpu.ontologies.source import Source, decode_lines, peek_first
from sma_gpu.ontologies.stream import HashedStream, Rejoined, head_of, line_blocks, members, only_member


def archive(names: dict[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in names.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    return out.getvalue()


def test_members_of_a_tar_are_its_files_and_no_links() -> None:
    packed = archive({"../up.txt": b"a", "__MACOSX/x": b"", ".hidden": b"", "in/b.txt.gz": gzip.compress(b"b")})
    found = [(member.name, member.stream.read()) for member in members(Source("x", packed))]
    assert found == [("../up.txt", b"a"), ("in/b.txt.gz", b"b")]


def test_more_than_four_layers_are_refused() -> None:
    for packed in (
        gzip.compress(gzip.compress(gzip.compress(archive({"a.gz": gzip.compress(b"a")})))),
        archive({"a.tar": archive({"a.tar": archive({"a.tar": archive({"a.tar": archive({"a": b"a"})})})})}),
    ):
        with pytest.raises(ParseError, match="more than four layers"):
            head_of(Source("x", packed))


def test_what_is_packed_in_another_way_is_refused() -> None:
    with pytest.raises(ParseError, match="zstd"):
        head_of(Source("x", b"\x28\xb5\x2f\xfd rest"))


@pytest.mark.parametrize("count", [0, 2])
def test_only_one_member_is_a_source(count: int) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for i in range(count):
            packed.writestr(f"{i}.txt", b"x")
    with (
        pytest.raises(ParseError, match=f"the archive holds {count or 'no'} files"),
        only_member(Source("x", out.getvalue())),
    ):
        pass


def test_a_member_can_be_read_to_its_end() -> None:
    content = b"line\n" * 100_000
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.txt", content)
    for raw in (content, out.getvalue(), lzma.compress(content), archive({"a": content}, "w:bz2")):
        with only_member(Source("x", raw)) as file:
            assert file.read() == content


def test_the_start_of_a_file_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.xz"
    path.write_bytes(archive({"a.txt": b"abc", "b.txt": b""}, "w:xz"))
    assert peek_first(path, 2) == ("a.txt", b"ab")
    path.write_bytes(b"plain")
    assert peek_first(path) == ("", b"plain")
    path.write_bytes(gzip.compress(b"cut off")[:-9])
    assert peek_first(path) == ("", b"")


@given(
    st.lists(st.sampled_from([b"\n", b"\r\n", b"\r", b"a", "é".encode(), b"\xff", b"\0", b"\xef\xbb\xbf"])),
    st.integers(1, 7),
)
def test_lines_in_blocks_are_the_lines_of_the_whole(parts: list[bytes], chunk: int) -> None:
    content = b"".join(parts)
    whole, report = LoadReport("x"), LoadReport("x")
    wanted = decode_lines(content, whole)
    before, stream._CHUNK = stream._CHUNK, chunk
    try:
        blocks = list(line_blocks(io.BytesIO(content), report))
    finally:
        stream._CHUNK = before
    assert [line for _, lines in blocks for line in lines] == wanted
    starts = [start for start, _ in blocks]
    assert starts == [sum(len(lines) for _, lines in blocks[:i]) for i in range(len(blocks))]
    assert report.entries == whole.entries


def test_what_was_read_can_be_put_back() -> None:
    file = HashedStream(io.BytesIO(b"abcdef"))
    again = Rejoined(file.read(4), file)
    assert again.read(2) + again.read(1) + again.read() == b"abcdef"
    assert file.sha256 == hashlib.sha256(b"abcdef").hexdigest()
    again = Rejoined(b"ab", io.BytesIO(b"cd"))
    assert again.read() == b"abcd"
