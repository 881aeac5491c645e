"""Vectors of texts: the same whatever they are made with, made once, and kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sma_gpu import IndexItem, Query, mount, ontology_from_parents
from sma_gpu.bench import text_vectors
from sma_gpu.bench.arms import phrase_graph
from sma_gpu.bench.arms.arm import Setting
from sma_gpu.bench.arms.registry import find
from sma_gpu.bench.text_vectors import PACKAGED, missing_model, model_mark, vectors_of
from sma_gpu.errors import DataMissing

TEXTS = ["long bone", "a murmur of the heart", "bone", "", "finding of eye", "bone near the heart", "lens " * 400]


@pytest.fixture
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if why := missing_model(PACKAGED):
        pytest.skip(f"the encoder: {why}")
    monkeypatch.setenv("SMA_GPU_CACHE", str(tmp_path))
    monkeypatch.setattr(text_vectors, "_made", {})
    monkeypatch.setattr(text_vectors, "_MANY", 4)
    return tmp_path / "bench"


def test_a_vector_depends_on_its_text_alone(own_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = vectors_of(TEXTS)
    assert together.shape == (len(TEXTS), 384)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-4)
    assert (together * 2**20 == np.rint(together * 2**20)).all()
    monkeypatch.setenv("SMA_GPU_CACHE", str(own_store / "elsewhere"))
    for text, vector in zip(TEXTS, together, strict=True):
        monkeypatch.setattr(text_vectors, "_made", {})
        assert (vectors_of([text])[0] == vector).all(), text


def test_many_are_kept_and_read_back(own_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors_of(TEXTS[:2])
    assert not own_store.exists()
    first = vectors_of(TEXTS[2:])
    more = [f"{text} again" for text in TEXTS[:4]]
    second = vectors_of(more)
    (file,) = own_store.iterdir()
    assert len(np.load(file)["digests"]) == len(TEXTS) - 2 + len(more)
    monkeypatch.setattr(text_vectors, "_made", {})

    def no_encoder(texts: list[str], model: str) -> np.ndarray:
        assert not texts
        return np.zeros((0, 0))

    monkeypatch.setattr(text_vectors, "_encode", no_encoder)
    assert (vectors_of(TEXTS[2:]) == first).all()
    assert (vectors_of(more) == second).all()


def test_what_is_asked_is_in_no_file(own_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = vectors_of(TEXTS[:4])
    files = {file: file.read_bytes() for file in own_store.iterdir()}
    asked = vectors_of(TEXTS, keep=False)
    assert {file: file.read_bytes() for file in own_store.iterdir()} == files
    assert (asked[:4] == kept).all()


@pytest.mark.parametrize("arm", ["dense-text", "dense-terms"])
def test_an_arm_keeps_what_is_stored_and_not_what_is_asked(own_store: Path, arm: str) -> None:
    mounted = mount(ontology_from_parents({f"EX:{n}": [] for n in range(12)}))
    of = find(arm).build(Setting(mounted))
    of.index([IndexItem(f"k{n}", [f"EX:{n}"]) for n in range(6)])
    (file,) = own_store.iterdir()
    held = len(np.load(file)["digests"])
    of.rank([Query([f"EX:{n}"]) for n in range(12)], 3)
    assert len(np.load(file)["digests"]) == held == 6


def test_a_model_of_one_name_is_another_when_its_files_are(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    model_mark.cache_clear()
    first = model_mark(str(tmp_path))
    (tmp_path / "config.json").write_text("{ }", encoding="utf-8")
    model_mark.cache_clear()
    assert model_mark(str(tmp_path)) != first


def test_names_alike_are_found_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(5)
    whole = generator.integers(-9, 10, (40, 6)) / 16.0
    made = whole / np.sqrt((whole * whole).sum(axis=1, keepdims=True))
    made = np.rint(made * 2**20) / 2**20
    monkeypatch.setattr(phrase_graph, "vectors_of", lambda names, model: made)
    monkeypatch.setattr(phrase_graph, "_ROWS", 7)
    phrase_graph._alike.cache_clear()
    found = phrase_graph._alike(tuple(map(str, range(40))), "toy")
    phrase_graph._alike.cache_clear()
    wanted = [(i, j) for i in range(40) for j in range(i + 1, 40) if made[i] @ made[j] >= 0.8]
    assert sorted(map(tuple, found.T.tolist())) == wanted and len(wanted) > 10


def test_a_model_that_is_not_here_is_refused(own_store: Path) -> None:
    with pytest.raises(DataMissing, match="no weights of nobody/no-such-model"):
        vectors_of(["a"], "nobody/no-such-model")
    assert vectors_of([]).shape == (0, 0)
