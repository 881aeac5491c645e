"""Compiled files: arrays kept between runs, so that a file is parsed once. A cache, never a source.

A compiled file is named by what it was made from: a kind, the format number, and the SHA-256 of the stored source
bytes. Its header repeats these. It is a file of arrays as ``tensor_file.py`` writes them, and mapped into memory when
it is loaded. Whatever does not agree in every part is as good as absent and is made again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArtifactError
from .ontology import Ontology
from .report import LoadReport
from .retired import RetiredTable
from .strings import StringColumn
from .tensor_file import read_tensors, write_tensors

__all__ = ["FORMAT", "cache_dir", "load_compiled", "ontology_from_arrays", "ontology_to_arrays", "store_compiled"]

# Raised by one whenever a reader, the builder or a layout below changes what the same source bytes compile to.
FORMAT = 7

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_COLUMNS = ("names", "definitions", "references", "synonym_texts", "synonym_languages")
_ARRAYS = {
    "placeholder": np.bool_,
    "parent_ptr": np.int32,
    "parents": np.int32,
    "synonym_ptr": np.int32,
    "synonym_scopes": np.uint8,
    "relations": np.int32,
}

Arrays = Mapping[str, npt.NDArray[Any]]


def cache_dir() -> Path:
    """Returns the folder of compiled files, which need not exist.

    It is ``$SMA_GPU_CACHE``, else ``$XDG_CACHE_HOME/sma_gpu``, else ``~/.cache/sma_gpu``.
    """
    own = os.environ.get("SMA_GPU_CACHE")
    if own:
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path(os.path.expanduser("~")) / ".cache") / "sma_gpu"


def load_compiled(kind: str, key: str) -> dict[str, npt.NDArray[Any]] | None:
    """Returns the arrays stored under ``kind`` and ``key``, mapped into memory, or None where none are to be trusted.

    Args:
        kind: what the arrays are, such as ``"ontology"``.
        key: what they were made from: the SHA-256 of the stored source bytes, perhaps with more behind it.

    Raises:
        ValueError: ``kind`` or ``key`` is not fit for a file name.
    """
    path = _path(kind, key)
    try:
        texts, arrays = read_tensors(path, _schema())
    except ArtifactError:
        return None
    return arrays if (texts.get("kind"), texts.get("key")) == (kind, key) else None


def store_compiled(kind: str, key: str, arrays: Arrays) -> bool:
    """Returns whether ``arrays`` were stored under ``kind`` and ``key``.

    A folder that cannot be written is no error: the next run parses again. The file appears whole or not at all, and
    the same arrays give the same bytes.

    Raises:
        ValueError: ``kind`` or ``key`` is not fit for a file name.
        ShapeError: an array is of a type that ``write_tensors`` does not write, such as one of Python objects.
    """
    path = _path(kind, key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_tensors(path, _schema(), {"kind": kind, "key": key}, arrays)
    except (OSError, ArtifactError):
        return False
    return True


def ontology_to_arrays(ontology: Ontology) -> dict[str, npt.NDArray[Any]]:
    """Returns ``ontology`` as plain arrays, for a compiled file; ``ontology_from_arrays`` takes them back."""
    meta = {
        "name": ontology.name,
        "version": ontology.version,
        "sha256": ontology.sha256,
        "relation_ids": ontology.relation_ids,
        "relation_names": ontology.relation_names,
        "header": list(ontology.header.items()),
        "report": ontology.report.to_json(),
        "marks": list(ontology.marks.items()),
    }
    arrays: dict[str, npt.NDArray[Any]] = {
        # ASCII escapes, so that a lone surrogate in a header survives.
        "meta": np.frombuffer(json.dumps(meta).encode("ascii"), dtype=np.uint8),
        **{name: getattr(ontology, name) for name in _ARRAYS},
        **RetiredTable.of(ontology.retired).to_arrays(),
    }
    columns = {name: getattr(ontology, name) for name in _COLUMNS}
    for name, column in {"ids": StringColumn.from_strings(ontology.ids), **columns}.items():
        arrays[name] = column.blob_array
        arrays[f"{name}_ends"] = column.ends
    return arrays


def ontology_from_arrays(arrays: Arrays, *, path: str) -> Ontology:
    """Returns the ontology that ``ontology_to_arrays`` wrote.

    Args:
        arrays: its arrays.
        path: today's name of the source file, for the report.

    Raises:
        ValueError: an array is missing, has another type, or does not fit the others.
    """
    try:
        meta = json.loads(arrays["meta"].tobytes())
        plain = {name: _typed(arrays, name, dtype) for name, dtype in _ARRAYS.items()}
        columns = {
            name: StringColumn(_typed(arrays, name, np.uint8), _typed(arrays, f"{name}_ends", np.int64))
            for name in ("ids", *_COLUMNS)
        }
        ids = tuple(columns.pop("ids"))
        size = len(ids)
        edges, synonyms = plain["parent_ptr"], plain["synonym_ptr"]
        if (
            any(len(columns[name]) != size for name in ("names", "definitions", "references"))
            or len(plain["placeholder"]) != size
            or any(len(ptr) != size + 1 or np.any(np.diff(ptr) < 0) for ptr in (edges, synonyms))
            or int(edges[-1]) != len(plain["parents"])
            or any(len(columns[name]) != int(synonyms[-1]) for name in ("synonym_texts", "synonym_languages"))
            or int(synonyms[-1]) != len(plain["synonym_scopes"])
            or plain["relations"].shape[1:] != (3,)
        ):
            raise ValueError("the arrays do not fit one another")
        return Ontology(
            name=meta["name"],
            version=meta["version"],
            sha256=meta["sha256"],
            ids=ids,
            relation_ids=tuple(meta["relation_ids"]),
            relation_names=tuple(meta["relation_names"]),
            retired=RetiredTable.from_arrays(arrays),
            header={tag: tuple(values) for tag, values in meta["header"]},
            report=LoadReport.from_json(meta["report"], path),
            names=columns["names"],
            definitions=columns["definitions"],
            references=columns["references"],
            placeholder=plain["placeholder"],
            parent_ptr=edges,
            parents=plain["parents"],
            synonym_ptr=synonyms,
            synonym_texts=columns["synonym_texts"],
            synonym_languages=columns["synonym_languages"],
            synonym_scopes=plain["synonym_scopes"],
            relations=plain["relations"],
            marks={mark: tuple(terms) for mark, terms in meta["marks"]},
        )
    except (KeyError, TypeError, AttributeError, IndexError) as fault:
        raise ValueError(f"the arrays are not those of an ontology of this release ({fault!r})") from fault


def _typed(arrays: Arrays, name: str, dtype: type[np.generic]) -> npt.NDArray[Any]:
    if arrays[name].dtype != dtype:
        raise ValueError(f"array {name} is {arrays[name].dtype}, not {np.dtype(dtype)}")
    return arrays[name]


def _schema() -> str:
    return f"sma-gpu/compiled/{FORMAT}"


def _path(kind: str, key: str) -> Path:
    for part in (kind, key):
        if _SAFE.fullmatch(part) is None:
            raise ValueError(f"{part!r} cannot be part of a file name")
    return cache_dir() / f"{kind}-{FORMAT}-{key}.compiled"
