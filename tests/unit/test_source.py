"""Bytes from anywhere: archives, pipes, layers of compression, and what a look at the start of a file gives."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import threading
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from sma_gpu.errors import DataMissing, ParseError
from sma_gpu.ontologies.locate import find
from sma_gpu.ontologies.manifest import manifests
from sma_gpu.ontologies.report import LoadReport
from sma_gpu.ontologies.source import Source, archive_members, decode_lines, peek, read_source
from sma_gpu.ontologies.stream import members

TEXT = b"format-version: 1.4\n"


def zipped(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


LITTER: dict[str, bytes] = {
    "folder/": b"",
    "__MACOSX/._x.obo": b"junk",
    "folder/__MACOSX/x": b"junk",
    ".DS_Store": b"junk",
    "folder/.hidden/x.obo": b"junk",
    "folder/._x.obo": b"junk",
}


def test_litter_in_an_archive_is_passed_over(tmp_path: Path) -> None:
    raw = zipped(**LITTER, **{"./folder/x.obo": TEXT})
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        assert archive_members(archive) == ["./folder/x.obo"]
    assert Source("x.zip", raw).content() == TEXT
    (tmp_path / "x.zip").write_bytes(raw)
    assert peek(tmp_path / "x.zip", 6) == b"format"


@pytest.mark.parametrize("files", [{}, LITTER])
def test_an_archive_without_files_is_refused(files: dict[str, bytes], tmp_path: Path) -> None:
    with pytest.raises(ParseError) as refused:
        Source("x.zip", zipped(**files)).content()
    assert refused.value.found == "the archive holds no files"
    (tmp_path / "x.zip").write_bytes(zipped(**files))
    assert peek(tmp_path / "x.zip") == b""


def tarred(name: str, content: bytes, mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:  # type: ignore[call-overload]
        info = tarfile.TarInfo(name)
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "raw",
    [
        gzip.compress(gzip.compress(TEXT)),
        zipped(**{"x.obo.xz": lzma.compress(TEXT)}),
        tarred("x.obo.gz", gzip.compress(TEXT), "w:xz"),
        tarred("x.zip", zipped(**{"x.obo": TEXT}), "w:gz"),
        zipped(**{"x.tgz": tarred("x.obo", TEXT, "w:gz")}),
        zipped(**{"x.zip": zipped(**{"x.obo": TEXT})}),
    ],
)
def test_layers_in_any_order_are_unpacked(raw: bytes, tmp_path: Path) -> None:
    assert Source("x", raw).content() == TEXT
    (tmp_path / "x").write_bytes(raw)
    assert peek(tmp_path / "x", 6) == b"format"


def test_a_fifth_layer_is_refused() -> None:
    raw = TEXT
    for _ in range(4):
        raw = gzip.compress(raw)
    assert Source("x", raw).content() == TEXT
    with pytest.raises(ParseError) as refused:
        Source("x", gzip.compress(raw)).content()
    assert "more than four layers" in refused.value.found


def bomb(kind: str, size: int = 80 << 20) -> bytes:
    content = b"a" * size
    if kind == "zip":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for i in range(2):  # neither of which is too large by itself
                archive.writestr(f"{i}.obo", content[: size * 5 // 8])
        return buffer.getvalue()
    if kind == "tar in gzip in gzip":
        return gzip.compress(tarred("x.obo", content, "w:gz"))
    return {"gzip": gzip.compress, "xz": lzma.compress, "bzip2": bz2.compress}[kind](content)


@pytest.mark.parametrize("kind", ["gzip", "xz", "bzip2", "zip", "tar in gzip in gzip"])
def test_what_grows_beyond_reason_is_refused_before_it_is_whole(kind: str, tmp_path: Path) -> None:
    raw = bomb(kind)
    assert len(raw) < 200_000
    tracemalloc.start()
    with pytest.raises(ParseError, match=r"unpacks to more than 67,108,864 bytes|holds 2 files"):
        Source("x", raw).content()
    with pytest.raises(ParseError, match="unpacks to more than"):
        [member.stream.read() for member in members(Source("x", raw))]
    assert tracemalloc.get_traced_memory()[1] < 160 << 20
    tracemalloc.stop()
    (tmp_path / "x").write_bytes(raw)
    assert peek(tmp_path / "x", 6) == b"a" * 6


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (lzma.compress(TEXT, format=lzma.FORMAT_ALONE), "lzma"),
        (b"\x28\xb5\x2f\xfd" + b"abc" * 10, "zstd"),
        (b"7z\xbc\xaf\x27\x1c\x00\x04", "7-Zip"),
        (gzip.compress(b"\x28\xb5\x2f\xfd" + b"abc" * 10), "zstd"),
    ],
)
def test_other_compression_is_named(raw: bytes, name: str) -> None:
    with pytest.raises(ParseError) as refused:
        Source("x.obo", raw).content()
    assert "binary or compressed in a way that is not read" in refused.value.found
    assert name in refused.value.found
    assert "Unpack it" in refused.value.do


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_can_be_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(TEXT,))
    writer.start()
    assert read_source(pipe).raw == TEXT
    writer.join()
    reading, writing = os.pipe()
    os.write(writing, TEXT)
    os.close(writing)
    assert read_source(f"/dev/fd/{reading}").raw == TEXT
    os.close(reading)


def test_a_folder_and_nothing_at_all(tmp_path: Path) -> None:
    with pytest.raises(DataMissing) as refused:
        read_source(tmp_path)
    assert refused.value.found == "that is a folder"
    with pytest.raises(DataMissing) as refused:
        read_source(tmp_path / "none")
    assert refused.value.found == "there is no such file"
    with pytest.raises(DataMissing, match="given as bytes") as refused:
        read_source("format-version: 1.4\n" * 1000)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbf" * 2 + b"format-version: 1.4\ndata-version: hp/releases/2031-01-02\n\n[Term]\nid: HP:0000001\n",
        b"format-version: 1.4\rdata-version: hp/releases/2031-01-02\r\r[Term]\rid: HP:0000001\r",
        b"! licence\n" * 20000 + b"data-version: hp/releases/2031-01-02\n\n[Term]\nid: HP:0000001\n",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_an_ontology_is_found_by_its_content(text: bytes, packed: bool, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(zipped(**LITTER, **{"x.obo": text}) if packed else text)
    (tmp_path / "b.bin").write_bytes(b"nothing\n" * 20000)
    (candidate,) = find(manifests()["medicine"], "ontology", tmp_path)
    assert (candidate.path.name, candidate.version) == ("a.bin", "2031-01-02")


def test_the_mark_that_ends_a_text_in_dos_is_no_line() -> None:
    report = LoadReport("x")
    assert decode_lines(b"a\r\nb\r\n\x1a", report) == ["a", "b", ""]
    assert not report.entries
