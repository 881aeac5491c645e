"""Saved indexes: nothing cut, foreign, newer or damaged is loaded, and no kill costs what was there."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from indexes import assert_same_index
from kills import killed
from strategies import World, pack
from weighed import WeighedWorld

from sma_gpu import CaseBatch, Dials, Index, IndexItem, SmaMemory, mount, ontology_from_parents
from sma_gpu.cases.model import Case, Entity, Predicate, Statement
from sma_gpu.errors import ArtifactError, FingerprintMismatch, ShapeError
from sma_gpu.ontologies.tensor_file import read_tensors, write_tensors
from sma_gpu.retrieval import storage
from sma_gpu.retrieval.storage import SCHEMA, read_manifest

Arrays = dict[str, npt.NDArray[Any]]

PARENTS = {"EX:1": [], "EX:2": ["EX:1"], "EX:3": ["EX:1"], "EX:4": ["EX:2", "EX:3"]}
SMALL = World(PARENTS, {"a": ["EX:2"], "b": ["EX:3", "EX:4"], "é": ["EX:4"], "bare": []})
OTHER = World(PARENTS, {"a": ["EX:3"], "new": ["EX:2", "EX:3"]})


def nested_index() -> Index:
    mounted = mount(ontology_from_parents(PARENTS), ["causes"])
    sun, earth = Entity("sun", "star"), Entity("earth")
    hot = Statement(Predicate("EX:2"), (sun,), weight=0.3)
    cases = [
        Case(
            "n",
            (Statement(Predicate("causes"), (hot, Statement(Predicate("EX:4"), (earth,), True))),),
            "a name",
            ("EX:1",),
        ),
        Case("c", (Statement(Predicate("EX:3", commutative=True), (Entity("5", "number", True), sun)),)),
    ]
    return Index.build(CaseBatch.from_cases(cases, mounted), mounted, Dials(scorer="unit", gamma=0.5))


WEIGHED = WeighedWorld(
    PARENTS, {"a": {"EX:2": 0.3}, "b": {"EX:3": None, "EX:4": 1.0}, "é": {"EX:4": None}, "bare": {}}, {}
)


@pytest.fixture(params=["flat", "nested", "weighed"])
def index(request: pytest.FixtureRequest) -> Index:
    if request.param == "weighed":
        return WEIGHED.index(Dials.evidence())
    return SMALL.index(Dials(normalisation="power(0.5)")) if request.param == "flat" else nested_index()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "an.index"


def refused(path: Path, index: Index, **options: Any) -> str:
    """Returns the words with which a file is refused; they name it."""
    with pytest.raises(ArtifactError) as found:
        Index.load(path, index.mounted, **options)
    assert str(path) in str(found.value)
    return str(found.value)


# --- the file


def test_the_manifest_can_be_read_alone_and_by_eye(path: Path) -> None:
    index = SMALL.index()
    size = index.save(path)
    manifest = read_manifest(path)
    assert path.stat().st_size == size > manifest["bytes"] > 0
    assert (manifest["schema"], manifest["cases"], manifest["set_aside"], manifest["statements"]) == (SCHEMA, 3, 1, 4)
    assert manifest["dials"] == index.dials
    assert manifest["fingerprint"] == index.fingerprint
    assert manifest["ontology"] == index.mounted.ontology.label
    assert manifest["ontology_sha256"] == index.mounted.ontology.sha256
    assert manifest["functors"] == 4
    raw = path.read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    assert raw[8:].startswith(b'{"__metadata__":{"schema":"sma-gpu/index/2","cases":"3",')
    assert json.loads(header["__metadata__"]["dials"]) == index.dials.as_dict()


def test_any_reader_of_the_format_reads_it(path: Path, index: Index) -> None:
    safetensors = pytest.importorskip("safetensors", reason="safetensors is not installed (dev extra)")
    index.save(path)
    texts, arrays = read_tensors(path, SCHEMA)
    with safetensors.safe_open(path, framework="np") as file:
        assert file.metadata() == texts
        assert sorted(file.keys()) == sorted(arrays)
        for name in file.keys():  # noqa: SIM118
            found = file.get_tensor(name)
            assert (found.dtype, found.tobytes()) == (arrays[name].dtype, arrays[name].tobytes())


def test_equal_content_is_saved_as_equal_bytes_under_any_hash_seed(path: Path) -> None:
    SMALL.index().save(path)
    World(PARENTS, dict(reversed(SMALL.cases.items()))).index().save(path.with_name("again"))
    assert path.with_name("again").read_bytes() == path.read_bytes()
    script = (
        "import sys; sys.path.insert(0, 'tests'); from unit.test_storage import SMALL; SMALL.index().save(sys.argv[1])"
    )
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        other = path.with_name(f"seed-{seed}")
        root = Path(__file__).parents[2]
        subprocess.run([sys.executable, "-c", script, str(other)], check=True, cwd=root, env=environment)
        assert other.read_bytes() == path.read_bytes()


def test_a_loaded_index_lies_in_the_file_and_cannot_change_it(path: Path, index: Index) -> None:
    index.save(path)
    before = path.read_bytes()
    found = Index.load(path, index.mounted)
    assert str(path) in Path("/proc/self/maps").read_text()
    for array in (found.cases.functors, found.values, found.costs, found.near.hops, found.posting_cases):
        assert array.flags.aligned
        assert not array.flags.owndata
        array[:1] = 0
    assert path.read_bytes() == before
    assert_same_index(Index.load(path, index.mounted), index)


def test_a_loaded_index_outlives_a_save_over_its_file(path: Path) -> None:
    index, other = SMALL.index(), OTHER.index()
    index.save(path)
    found = Index.load(path, index.mounted)
    other.save(path)
    assert_same_index(found, index)
    assert_same_index(Index.load(path, index.mounted), other)


def test_an_index_without_cases_is_saved_too(path: Path) -> None:
    empty = World(PARENTS, {}).index()
    empty.save(path)
    found = Index.load(path, empty.mounted)
    assert_same_index(found, empty)
    assert_same_index(found.add(pack(empty.mounted, {"a": ["EX:3"]})), World(PARENTS, {"a": ["EX:3"]}).index())


def test_a_memory_comes_back_with_its_account(path: Path) -> None:
    memory = SmaMemory(mount(ontology_from_parents(PARENTS)), Dials(rho=0.5))
    memory.index([IndexItem("odd", ["EX:9", "ex:2", "EX:2"]), IndexItem("é", ["EX:4"]), IndexItem("bare", ["ZZ:1"])])
    memory.save(path)
    found = SmaMemory.load(path, mount(ontology_from_parents(PARENTS)))
    assert found.left_out == memory.left_out
    assert [o.candidates for o in found.left_out["odd"]] == [o.candidates for o in memory.left_out["odd"]]
    assert found.set_aside == ("bare",)
    found.index([IndexItem("again", ["EX:2"])])
    assert found.array_index.dials == Dials(rho=0.5)
    assert_same_index(Index.load(path, memory.array_index.mounted), memory.array_index)
    memory.array_index.save(path)  # by itself, without an account
    assert SmaMemory.load(path, memory.array_index.mounted).left_out == {}


# --- what is refused


def test_a_file_that_was_cut_is_incomplete_wherever_it_was_cut(path: Path, index: Index) -> None:
    index.save(path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        for check in (True, False):
            assert "it is incomplete: " in refused(path, index, check=check), length


def test_every_changed_byte_is_found(path: Path, index: Index) -> None:
    index.save(path)
    whole = path.read_bytes()
    arrays_at = 8 + int.from_bytes(whole[:8], "little")
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        refused(path, index)
        if place < arrays_at:  # the header is always checked
            refused(path, index, check=False)
    path.write_bytes(whole + b"\0")
    for check in (True, False):
        assert "damaged" in refused(path, index, check=check)


FOREIGN = {
    "text": b"HP:0001166\tArachnodactyly\n" * 40,
    "image": b"\x89PNG\r\n\x1a\n" + bytes(200),
    "json": json.dumps({"__metadata__": {"schema": SCHEMA}}).encode() * 9,
    "other tensors": (64).to_bytes(8, "little") + b'{"w":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}'.ljust(72),
    "header is no map": (8).to_bytes(8, "little") + b"[1,2,3] " + bytes(100),
    "texts are no map": (24).to_bytes(8, "little") + b'{"__metadata__":"index"}' + bytes(100),
    "another kind": (44).to_bytes(8, "little") + b'{"__metadata__":{"schema":"sma-gpu/other/1"}}'.ljust(44) + bytes(64),
    "nested without end": (60000).to_bytes(8, "little") + b"[" * 60000,
    "claims a header of exabytes": b"\xff" * 300,
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    words = refused(path, SMALL.index())
    assert "no file of the kind sma-gpu/index" in words
    with pytest.raises(ArtifactError):
        read_manifest(path)


def test_what_cannot_be_read_is_refused(path: Path, tmp_path: Path) -> None:
    assert "No such file" in refused(path, SMALL.index())
    assert "directory" in refused(tmp_path, SMALL.index())
    path.write_bytes(b"")
    assert "incomplete: 0 bytes" in refused(path, SMALL.index())


def test_a_newer_file_is_refused_in_words(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = SMALL.index()
    monkeypatch.setattr(storage, "SCHEMA", "sma-gpu/index/3")
    index.save(path)
    monkeypatch.undo()
    words = refused(path, index)
    assert "layout 3 of sma-gpu/index, and this release reads layout 2" in words
    assert "Use a release that reads it" in words
    with pytest.raises(ArtifactError, match="layout 3"):
        read_manifest(path)


def test_an_older_file_is_refused_in_words(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = SMALL.index()
    monkeypatch.setattr(storage, "SCHEMA", "sma-gpu/index/1")
    index.save(path)
    monkeypatch.undo()
    words = refused(path, index)
    assert "layout 1 of sma-gpu/index, and this release reads layout 2" in words
    assert "or save the index anew with this one" in words


def test_an_index_of_another_ontology_or_other_dials_is_refused(path: Path) -> None:
    index = SMALL.index()
    index.save(path)
    grown = mount(ontology_from_parents({**PARENTS, "EX:5": ["EX:1"]}))
    widened = mount(ontology_from_parents(PARENTS), ["causes"])
    for field, mounted, dials in (
        ("ontology", grown, None), ("functors", widened, None), ("dials", index.mounted, Dials(rho=0.5)),
    ):  # fmt: skip
        for load in (Index.load, SmaMemory.load):
            with pytest.raises(FingerprintMismatch) as found:
                load(path, mounted, dials)
            assert found.value.field == field
            assert str(path) in str(found.value)
    assert_same_index(Index.load(path, index.mounted, index.dials), index)


def _without_last(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return array[:-1]


def _too_large(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.full_like(array, 99)


def _other_type(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.nan_to_num(array).astype("f8" if array.dtype.kind != "f" else "i8")


NUMBERED = [
    "functors", "excluded", "posting_cases", "posting_ptr", "ptr", "near.ancestors", "below.ptr", "case_kinds",
    "keys.ends", "structure.args", "structure.entity_ptr", "kinds.functors", "kinds.shapes",
]  # fmt: skip


def test_arrays_that_do_not_fit_one_another_are_refused(path: Path, index: Index) -> None:
    index.save(path)
    texts, arrays = read_tensors(path, SCHEMA)
    own = {name: text for name, text in texts.items() if not name.endswith(("_sha256", "schema"))}
    own |= {name: texts[name] for name in ("ontology_sha256", "functors_sha256")}
    spoiled: list[tuple[str, Arrays]] = []
    for name, array in arrays.items():
        spoiled.append((f"no {name}", {n: a for n, a in arrays.items() if n != name}))
        if len(array):
            spoiled.append((f"short {name}", {**arrays, name: _without_last(array)}))
        spoiled.append((f"typed {name}", {**arrays, name: _other_type(array)}))
        if name in NUMBERED and len(array):
            spoiled.append((f"large {name}", {**arrays, name: _too_large(array)}))
    assert len(spoiled) > 50
    for what, wrong in spoiled:
        write_tensors(path, SCHEMA, own, wrong)
        assert "do not fit one another" in refused(path, index), what
    write_tensors(path, SCHEMA, {**own, "cases": "99"}, arrays)
    assert "counts other cases" in refused(path, index)
    for name, text in (("dials", '{"rho": 7}'), ("dials", "[]"), ("cases", "many")):
        write_tensors(path, SCHEMA, {**own, name: text}, arrays)
        assert "manifest" in refused(path, index)
    write_tensors(path, SCHEMA, own, arrays)
    assert_same_index(Index.load(path, index.mounted), index)


def test_an_array_of_another_type_is_not_written(path: Path) -> None:
    with pytest.raises(ShapeError, match="int16"):
        write_tensors(path, SCHEMA, {}, {"a": np.zeros(3, np.int16)})
    assert not path.exists()


# --- interrupted saves


def test_a_kill_at_any_call_of_the_system_leaves_the_old_index_or_the_new_one(path: Path) -> None:
    old, new = SMALL.index(), OTHER.index()
    old.save(path)
    before = path.read_bytes()
    new.save(path)
    after = path.read_bytes()
    found = []
    for step in range(1000):
        path.write_bytes(before)
        died = killed(lambda: new.save(path), step=step)
        held = path.read_bytes()
        assert held in (before, after), step
        assert_same_index(Index.load(path, old.mounted), old if held == before else new)
        found.append(held == after)
        if not died:
            break
    assert found == sorted(found)  # the old one up to one call, the new one from then on
    assert found.count(False) > 20
    assert found.count(True) >= 3
    for written in range(0, len(after), 97):
        path.write_bytes(before)
        assert killed(lambda: new.save(path), written=written)
        assert path.read_bytes() == before
    new.save(path)  # over what the killed ones left
    assert sorted(path.parent.iterdir()) == [path]


def test_a_first_save_that_is_killed_leaves_nothing_that_passes_for_an_index(path: Path) -> None:
    index = SMALL.index()
    assert killed(lambda: index.save(path), before="replace")
    assert not path.exists()
    assert "No such file" in refused(path, index)
    (aside,) = path.parent.iterdir()
    small = World(PARENTS, {}).index()
    assert aside.stat().st_size > small.save(path)  # written over what the killed save left, and no longer for it
    assert_same_index(Index.load(path, index.mounted), small)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_save_that_fails_leaves_the_old_index_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch, call: str, fault: BaseException
) -> None:
    old, new = SMALL.index(), OTHER.index()
    old.save(path)

    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(ArtifactError if isinstance(fault, OSError) else KeyboardInterrupt) as found:
        new.save(path)
    monkeypatch.undo()
    if isinstance(fault, OSError):
        assert "No space left on device" in str(found.value)
        assert "what was there is untouched" in str(found.value)
    assert sorted(path.parent.iterdir()) == [path]
    assert_same_index(Index.load(path, old.mounted), old)


def test_what_cannot_be_written_is_refused(path: Path, tmp_path: Path) -> None:
    index = SMALL.index()
    for wrong in (tmp_path, tmp_path / "no such folder" / "an.index"):
        with pytest.raises(ArtifactError, match="cannot be written"):
            index.save(wrong)
    assert list(tmp_path.iterdir()) == []


def test_a_save_through_a_link_replaces_the_file_behind_it(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    behind = tmp_path / "elsewhere" / "real.index"
    path.symlink_to(behind)
    index = SMALL.index()
    for _ in range(2):
        index.save(path)
    assert path.is_symlink()
    assert not behind.is_symlink()
    assert_same_index(Index.load(behind, index.mounted), index)


def test_writers_take_turns_and_readers_find_whole_files(path: Path) -> None:
    indexes = [SMALL.index(), OTHER.index()]
    prints = {index.fingerprint for index in indexes}
    indexes[0].save(path)
    faults: list[BaseException] = []

    def guarded(work: Callable[[], object]) -> None:
        try:
            for _ in range(60):
                work()
        except BaseException as fault:
            faults.append(fault)

    def read() -> None:
        found = Index.load(path, indexes[0].mounted)
        del found.__dict__["fingerprint"]
        assert found.fingerprint in prints

    work = [lambda: indexes[0].save(path), lambda: indexes[1].save(path), lambda: indexes[1].save(path), read, read]
    threads = [threading.Thread(target=guarded, args=(each,)) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert sorted(path.parent.iterdir()) == [path]
    assert hashlib.sha256(path.read_bytes()).digest()
