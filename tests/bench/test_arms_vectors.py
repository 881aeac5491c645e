"""Vectors of texts: the same whatever they are made with, made once, and kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sma_gpu.bench import text_vectors
from sma_gpu.bench.text_vectors import PACKAGED, missing_model, vectors_of
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


def test_a_model_that_is_not_here_is_refused(own_store: Path) -> None:
    with pytest.raises(DataMissing, match="no weights of nobody/no-such-model"):
        vectors_of(["a"], "nobody/no-such-model")
    assert vectors_of([]).shape == (0, 0)
