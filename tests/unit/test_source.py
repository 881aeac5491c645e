"""Bytes from anywhere: archives, pipes, layers of compression, and what a look at the start of a file gives."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import threading
import zipfile
from pathlib import Path

import pytest

from sma_gpu.errors import DataMissing, ParseError
from sma_gpu.ontologies.locate import find
from sma_gpu.ontologies.manifest import manifests
from sma_gpu.ontologies.source import Source, archive_members, peek, read_source

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
    assert refused.value.found == "the zip archive holds no files"
    (tmp_path / "x.zip").write_bytes(zipped(**files))
    assert peek(tmp_path / "x.zip") == b""


def test_two_layers_are_unpacked_and_no_more() -> None:
    assert Source("x", gzip.compress(gzip.compress(TEXT))).content() == TEXT
    assert Source("x", zipped(**{"x.obo.xz": lzma.compress(TEXT)})).content() == TEXT
    with pytest.raises(ParseError) as refused:
        Source("x", gzip.compress(gzip.compress(gzip.compress(TEXT)))).content()
    assert "more than two layers" in refused.value.found


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
