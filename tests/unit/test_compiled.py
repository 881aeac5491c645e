"""Compiled files: the same ontology comes back, and nothing damaged, foreign or newer is ever trusted."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from mapped import assert_same_ontology, is_mapped

from sma_gpu.errors import CycleFound, ParseError, ShapeError
from sma_gpu.ontologies import compiled, loading
from sma_gpu.ontologies.compiled import (
    cache_dir,
    load_compiled,
    ontology_from_arrays,
    ontology_to_arrays,
    store_compiled,
)
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.obo import read_obo
from sma_gpu.ontologies.tensor_file import write_tensors

TEXT = rb"""format-version: 1.4
data-version: releases/2026-01-02
ontology: ex

[Term]
id: EX:1
name: root

[Term]
id: EX:2
name: caf\\e {8}
def: "Two \"words\"." [EX:a\,b, http\://x.org/y]
synonym: "second" EXACT []
synonym: "zweites" RELATED []
alt_id: EX:8
is_a: EX:1
is_a: QQ:1
relationship: part_of EX:1
creation_date: never

[Term]
id: EX:9
name: old
is_obsolete: true
consider: EX:8
consider: EX:1
"""
KEY = "ab" * 32


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("SMA_GPU_CACHE", str(folder))
    return folder


def stored_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def same(one: Ontology, other: Ontology) -> None:
    assert_same_ontology(one, other)
    assert one.roots == other.roots
    assert [one.term(t) for t in one.ids] == [other.term(t) for t in other.ids]


@pytest.fixture
def no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> Ontology:
        raise AssertionError("the source was read although a compiled file is there")

    readers = tuple(loading.OntologyReader(r.format, r.can_read, fail) for r in loading.READERS)
    monkeypatch.setattr(loading, "READERS", readers)


def test_where_the_cache_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SMA_GPU_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "shared"))
    assert cache_dir() == tmp_path / "own"
    monkeypatch.delenv("SMA_GPU_CACHE")
    assert cache_dir() == tmp_path / "shared" / "sma_gpu"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_dir() == tmp_path / ".cache" / "sma_gpu"


def test_an_ontology_survives_as_arrays() -> None:
    found = read_obo(TEXT, name="a.obo")
    same(found, ontology_from_arrays(ontology_to_arrays(found), path="a.obo"))


def test_chains_of_replacements_survive_and_may_be_long(cache: Path) -> None:
    size = 20000
    text = "".join(
        f"[Term]\nid: EX:{n:06}\nname: n\nis_obsolete: true\nreplaced_by: EX:{n + 1:06}\n" for n in range(size)
    )
    content = f"{text}[Term]\nid: EX:{size:06}\nname: today\n".encode()
    first, again = load_ontology(content), load_ontology(content)
    assert stored_file(cache).stat().st_size < 20 * len(content)
    assert again.retired == first.retired
    for found in (first, again):
        assert found.resolve("EX:000000").path == tuple(f"EX:{n:06}" for n in range(size + 1))
        assert found.resolve(f"EX:{size - 1:06}").path == (f"EX:{size - 1:06}", f"EX:{size:06}")


@pytest.mark.parametrize("onward", [[1, 0], [-1, 1], [2, -1], [-2, -1], [-1]])
def test_a_replacement_that_leads_nowhere_is_no_compiled_file(onward: list[int]) -> None:
    arrays = ontology_to_arrays(read_obo(TEXT))
    assert len(arrays["retired_onward"]) == 2
    arrays["retired_onward"] = np.array(onward, np.int32)
    with pytest.raises(ValueError, match="retired"):
        ontology_from_arrays(arrays, path="x")


def test_retired_ids_are_made_when_asked_for_and_once() -> None:
    found = read_obo(TEXT)
    again = ontology_from_arrays(ontology_to_arrays(found), path="x")
    assert list(again.retired) == list(found.retired)
    assert again.retired == found.retired
    assert len(again.retired) == len(found.retired) == 2
    assert "EX:9" in again.retired
    assert "EX:1" not in again.retired
    assert again.retired["EX:9"] is again.retired["EX:9"]
    with pytest.raises(KeyError):
        again.retired["EX:1"]


def test_arrays_hold_no_path_and_no_python_objects() -> None:
    arrays = ontology_to_arrays(read_obo(TEXT, name="/home/somebody/a.obo"))
    assert not any(a.dtype.hasobject for a in arrays.values())
    assert b"somebody" not in b"".join(a.tobytes() for a in arrays.values())


def test_the_second_load_reads_no_source_and_says_the_same(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    path = tmp_path / "a.obo"
    path.write_bytes(TEXT)
    first = load_ontology(path)
    request.getfixturevalue("no_reading")
    same(first, load_ontology(path))
    renamed = load_ontology(TEXT, name="elsewhere")
    assert {e.path for e in renamed.report} == {"elsewhere"}
    assert [e.message for e in renamed.report] == [e.message for e in first.report]
    with pytest.raises(ParseError) as refused:
        load_ontology(path, strict=True)
    assert refused.value.line == 11  # the braces in the name; the placeholder and the date come later
    assert refused.value.path == str(path)


def test_other_content_has_another_file(cache: Path) -> None:
    load_ontology(TEXT)
    load_ontology(TEXT + b"\n")
    assert len(list(cache.iterdir())) == 2


def test_a_refused_source_leaves_no_file(cache: Path) -> None:
    for content, fault in (
        (b"no ontology", ParseError),
        (b"[Term]\nid: A\nis_a: B\n\n[Term]\nid: B\nis_a: A\n", CycleFound),
    ):
        with pytest.raises(fault):
            load_ontology(content)
    assert not cache.exists() or not list(cache.iterdir())


def test_storing_is_deterministic_and_leaves_one_file(cache: Path) -> None:
    arrays: dict[str, npt.NDArray[Any]] = {
        "b": np.arange(5, dtype=np.int32),
        "a": np.zeros((0, 3)),
        "c": np.arange(3, dtype=np.uint16),
    }
    assert store_compiled("records", KEY, arrays)
    once = stored_file(cache).read_bytes()
    assert store_compiled("records", KEY, {name: arrays[name] for name in "cab"})
    assert stored_file(cache).read_bytes() == once
    found = load_compiled("records", KEY)
    assert found is not None
    assert sorted(found) == ["a", "b", "c"]
    for name in arrays:
        np.testing.assert_array_equal(found[name], arrays[name])
        assert found[name].dtype == arrays[name].dtype
    assert load_compiled("ontology", KEY) is None
    assert load_compiled("records", "cd" * 32) is None


def test_damage_anywhere_is_noticed(cache: Path) -> None:
    load_ontology(TEXT)
    path = stored_file(cache)
    good = path.read_bytes()
    key = hashlib.sha256(TEXT).hexdigest()
    assert load_compiled("ontology", key) is not None
    for offset in sorted({0, 8, 20, 60, 100, 160, 200, 250, *range(0, len(good), 97), len(good) - 1}):
        path.write_bytes(good[:offset] + bytes([good[offset] ^ 0x20]) + good[offset + 1 :])
        assert load_compiled("ontology", key) is None, offset
    for cut in sorted({0, 1, 30, 100, 170, *range(0, len(good), 211), len(good) - 1}):
        path.write_bytes(good[:cut])
        assert load_compiled("ontology", key) is None, cut
    path.write_bytes(good + b"\0")
    assert load_compiled("ontology", key) is None
    path.write_bytes(good)
    assert load_compiled("ontology", key) is not None


def test_a_damaged_file_is_made_again(cache: Path) -> None:
    first = load_ontology(TEXT)
    path = stored_file(cache)
    good = path.read_bytes()
    path.write_bytes(good[:300])
    same(first, load_ontology(TEXT))
    assert path.read_bytes() == good


def test_a_file_under_a_foreign_key_or_kind_is_not_taken(cache: Path) -> None:
    load_ontology(TEXT)
    other = b"[Term]\nid: OTHER:1\n"
    path = stored_file(cache)
    wrong_key = path.with_name(path.name.replace(hashlib.sha256(TEXT).hexdigest(), hashlib.sha256(other).hexdigest()))
    path.rename(wrong_key)
    assert load_ontology(other).ids == ("OTHER:1",)
    wrong_kind = wrong_key.with_name(wrong_key.name.replace("ontology", "records"))
    wrong_key.rename(wrong_kind)
    assert load_compiled("records", hashlib.sha256(other).hexdigest()) is None


def test_another_format_number_is_another_file(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "FORMAT", compiled.FORMAT + 1)
    load_ontology(TEXT)
    newer = stored_file(cache)
    monkeypatch.undo()
    os.environ["SMA_GPU_CACHE"] = str(cache)
    key = hashlib.sha256(TEXT).hexdigest()
    assert load_compiled("ontology", key) is None
    # Not even under today's name: the number stands in the file too.
    newer.rename(newer.with_name(f"ontology-{compiled.FORMAT}-{key}.compiled"))
    assert load_compiled("ontology", key) is None
    assert load_ontology(TEXT).live_count == 2


def stored_under(cache: Path, schema: str, arrays: dict[str, npt.NDArray[Any]], **texts: str) -> None:
    """Stores arrays with right checksums, as another program with write access could."""
    key = hashlib.sha256(TEXT).hexdigest()
    cache.mkdir(exist_ok=True)
    path = cache / f"ontology-{compiled.FORMAT}-{key}.compiled"
    write_tensors(path, schema, {"kind": "ontology", "key": key, **texts}, arrays)


def test_python_objects_are_never_stored() -> None:
    with pytest.raises(ShapeError, match="object"):
        store_compiled("ontology", KEY, {"a": np.array([{}], dtype=object)})
    assert load_compiled("ontology", KEY) is None


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 an archive", b"\x80\x04N.", b"\xff" * 300])
def test_a_file_of_another_format(cache: Path, content: bytes) -> None:
    key = hashlib.sha256(TEXT).hexdigest()
    cache.mkdir()
    (cache / f"ontology-{compiled.FORMAT}-{key}.compiled").write_bytes(content)
    assert load_compiled("ontology", key) is None
    assert load_ontology(TEXT).live_count == 2
    assert load_compiled("ontology", key) is not None


def test_a_file_of_arrays_that_is_no_compiled_one(cache: Path) -> None:
    key = hashlib.sha256(TEXT).hexdigest()
    good = ontology_to_arrays(read_obo(TEXT))
    stored_under(cache, f"sma-gpu/compiled/{compiled.FORMAT}", good)
    assert load_compiled("ontology", key) is not None
    for schema, texts in (
        ("sma-gpu/own-ontology/2", {}),
        (f"sma-gpu/compiled/{compiled.FORMAT + 1}", {}),
        (f"sma-gpu/compiled/{compiled.FORMAT}", {"kind": "records"}),
        (f"sma-gpu/compiled/{compiled.FORMAT}", {"key": KEY}),
    ):
        stored_under(cache, schema, good, **texts)
        assert load_compiled("ontology", key) is None


def test_a_loaded_file_is_mapped_and_its_arrays_cannot_be_written(cache: Path) -> None:
    load_ontology(TEXT)
    before = stored_file(cache).read_bytes()
    again = load_ontology(TEXT)
    for array in (again.parents, again.names.blob_array, again.names.ends, again.synonym_scopes, again.relations):
        assert is_mapped(array)
    with pytest.raises(ValueError, match="read-only"):
        again.parents[:1] = 1
    stored_file(cache).unlink()  # who empties the cache takes nothing from those who have loaded it
    assert again.term("EX:2").name == "caf\\e {8}"
    load_ontology(TEXT)
    assert stored_file(cache).read_bytes() == before


def test_right_checksum_but_wrong_arrays(cache: Path) -> None:
    good = ontology_to_arrays(read_obo(TEXT))
    wrong = [
        {"a": np.zeros(3)},
        {k: v for k, v in good.items() if k != "parents"},
        {**good, "parents": good["parents"].astype(np.int64)},
        {**good, "parents": good["parents"][:-1]},
        {**good, "parent_ptr": good["parent_ptr"][::-1].copy()},
        {**good, "names_ends": good["names_ends"][:-1]},
        {**good, "ids_ends": good["ids_ends"][::-1].copy()},
        {**good, "retired_candidate_ptr": good["retired_candidate_ptr"] + 1},
        {**good, "retired_names": good["retired_names"].astype(np.int32)},
        {**good, "meta": np.frombuffer(b"[]", np.uint8)},
        {**good, "meta": np.frombuffer(b"no json", np.uint8)},
    ]
    for arrays in wrong:
        with pytest.raises(ValueError):
            ontology_from_arrays(arrays, path="x")
        stored_under(cache, f"sma-gpu/compiled/{compiled.FORMAT}", arrays)
        assert load_ontology(TEXT).live_count == 2


@pytest.mark.parametrize("fault", [OSError("disk is full"), KeyboardInterrupt()])
def test_a_failure_before_the_rename_leaves_the_old_file(
    cache: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    assert store_compiled("records", KEY, {"a": np.arange(3)})
    before = stored_file(cache).read_bytes()

    def fail(*_: object) -> None:
        raise fault

    for step in ("replace", "fsync"):
        monkeypatch.setattr(os, step, fail)
        if isinstance(fault, OSError):
            assert not store_compiled("records", KEY, {"a": np.arange(9)})
        else:
            with pytest.raises(KeyboardInterrupt):
                store_compiled("records", KEY, {"a": np.arange(9)})
        assert stored_file(cache).read_bytes() == before


def test_what_a_killed_run_left_is_not_taken_for_a_file(cache: Path) -> None:
    cache.mkdir()
    (cache / ".unfinished-abc").write_bytes(b"half a file")
    first = load_ontology(TEXT)
    same(first, load_ontology(TEXT))
    assert len(list(cache.iterdir())) == 2


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a file").write_text("in the way")
    monkeypatch.setenv("SMA_GPU_CACHE", str(tmp_path / "a file" / "below"))
    assert not store_compiled("records", KEY, {"a": np.arange(3)})
    assert load_compiled("records", KEY) is None
    assert load_ontology(TEXT).live_count == 2
    assert load_ontology(TEXT).live_count == 2


@pytest.mark.parametrize(("kind", "key"), [("../up", KEY), ("ontology", "../../etc/passwd"), ("", KEY), ("a/b", KEY)])
def test_names_that_leave_the_folder_are_refused(kind: str, key: str) -> None:
    with pytest.raises(ValueError):
        load_compiled(kind, key)
    with pytest.raises(ValueError):
        store_compiled(kind, key, {})


def test_unknown_formats_are_refused_with_what_was_found() -> None:
    with pytest.raises(ParseError) as refused:
        load_ontology(b"%PDF-1.7 and so on", name="paper.pdf")
    assert "%PDF-1.7" in refused.value.found
    assert "OBO" in refused.value.do
    assert refused.value.path == "paper.pdf"
