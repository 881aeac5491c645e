"""A saved index: what it holds as arrays, and how they become an index again.

Stored is all that building takes time for: cases, costs, kinds of statements, values, self-scores, rank factors, hop
tables and postings. What is made on demand (folded lists, values of pairs) is made on demand again. The texts beside
the arrays say what the index is: dials, fingerprint, ontology, numbers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..cases.model import Entity
from ..cases.structure import Structure
from ..errors import ArtifactError, DialError, FingerprintMismatch, ShapeError
from ..lattice import HopTable
from ..ontologies.mount import Mounted
from ..ontologies.strings import StringColumn
from ..ontologies.tensor_file import Arrays, read_tensors, read_texts, write_tensors
from ..scoring import Dials, Kinds, Normaliser, Shapes
from ..scoring.kinds import UNARY
from .corpus import Corpus

__all__ = ["SCHEMA", "load_index", "read_manifest", "save_index"]

# The number is raised whenever a release would read these arrays differently, or build others from equal content.
SCHEMA = "sma-gpu/index/2"

# Every array there is, by the letter of its type: whole numbers, floats, texts (their bytes), truth values.
_FLAT = {
    "i": "ptr functors excluded_ptr excluded values self_scores factors posting_ptr posting_cases keys.ends"
    " set_aside.ends near.ptr near.ancestors near.hops below.ptr below.ancestors below.hops",
    "f": "costs",
    "u": "keys.utf8 set_aside.utf8 notes",
}
_KINDS_APART = {
    "i": "kinds.functors kinds.shapes case_kinds",
    "f": "kinds.weights kinds.trickle kinds.strengths",
    "b": "kinds.narrowest",
}
_NESTED = {
    "i": "structure.order structure.stated structure.arg_ptr structure.args structure.entity_ptr structure.names.ends"
    " entities.names.ends entities.types.ends",
    "f": "structure.weight",
    "u": "structure.names.utf8 entities.names.utf8 entities.types.utf8",
    "b": "structure.negated structure.commutative structure.variadic entities.constant",
}

_COUNTS = ("cases", "set_aside", "statements", "frequencies", "functors", "bytes")
_PLAIN = ("order", "negated", "weight", "commutative", "variadic", "stated", "arg_ptr", "args", "entity_ptr")
_KINDS = ("functors", "shapes", "weights", "trickle", "strengths", "narrowest")

AnyCorpus = TypeVar("AnyCorpus", bound=Corpus)


def save_index(corpus: Corpus, path: str | os.PathLike[str], notes: Mapping[str, Any] | None = None) -> int:
    """Returns the number of bytes of ``path``, which holds the index in place of whatever was there.

    Args:
        corpus: the index.
        path: the file.
        notes: what the owner of the index wants to find again, as JSON values.

    Raises:
        ArtifactError: the file cannot be written; what was there is untouched.
    """
    arrays = _arrays_of(corpus) | {"notes": _encoded(json.dumps(notes or {}, sort_keys=True))}
    texts = {
        "cases": str(len(corpus)),
        "set_aside": str(len(corpus.set_aside)),
        "statements": str(len(corpus.cases.functors)),
        "frequencies": str(_known(corpus.cases)),
        "dials": corpus.dials.canonical_json(),
        "ontology": corpus.mounted.ontology.label,
        "ontology_sha256": corpus.mounted.ontology.sha256,
        "functors": str(len(corpus.mounted.lattice)),
        "functors_sha256": _functors_sha256(corpus.mounted),
        "fingerprint": corpus.fingerprint,
        "bytes": str(sum(array.nbytes for array in arrays.values())),
    }
    return write_tensors(path, SCHEMA, texts, arrays)


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns what a saved index says of itself, without reading its arrays.

    Returns:
        ``schema``, ``cases``, ``set_aside``, ``statements``, ``frequencies`` that are known of these, ``dials``,
        ``ontology``, ``ontology_sha256``, ``functors`` and ``functors_sha256`` of the mounted ontology,
        ``fingerprint``, ``bytes`` of the arrays, ``arrays_sha256``, ``header_sha256``.

    Raises:
        ArtifactError: the file is missing, foreign, newer, cut or damaged.
    """
    return _manifest(path, read_texts(path, SCHEMA))


def load_index(
    made: type[AnyCorpus],
    path: str | os.PathLike[str],
    mounted: Mounted,
    dials: Dials | None = None,
    *,
    check: bool = True,
) -> tuple[AnyCorpus, dict[str, Any]]:
    """Returns the index that was saved in ``path``, of the class ``made``, and the notes saved with it.

    Args:
        made: what to make of it.
        path: the file; it is mapped into memory.
        mounted: the ontology that the index was built under, mounted in the same way.
        dials: if given, the dials that the index must have been built under.
        check: compare the arrays with their SHA-256, which reads them all once.

    Raises:
        FingerprintMismatch: the index was built under another ontology, or other dials than those given.
        ArtifactError: the file is missing, foreign, newer, cut or damaged.
    """
    texts, arrays = read_tensors(path, SCHEMA, check=check)
    manifest = _manifest(path, texts)
    _check_made_under(path, manifest, mounted, dials)
    try:
        found = made(mounted, **_parts_of(arrays, manifest["dials"], mounted))
        if (len(found), len(found.set_aside)) != (manifest["cases"], manifest["set_aside"]):
            raise ValueError("the manifest counts other cases")
        if _known(found.cases) != manifest["frequencies"]:
            raise ValueError("the manifest counts other frequencies")
        notes = json.loads(arrays["notes"].tobytes())
    except (ShapeError, ValueError, KeyError, IndexError, TypeError) as fault:
        raise ArtifactError(
            f"load {path}", f"its arrays do not fit one another ({fault})", "Save the index again."
        ) from fault
    found.__dict__["fingerprint"] = manifest["fingerprint"]  # where the cached property would keep it
    return found, notes


def _manifest(path: str | os.PathLike[str], texts: Mapping[str, str]) -> dict[str, Any]:
    try:
        dials = Dials.from_mapping(json.loads(texts["dials"]))
        return {**texts, **{name: int(texts[name]) for name in _COUNTS}, "dials": dials}
    except (KeyError, ValueError, TypeError, AttributeError, DialError) as fault:
        raise ArtifactError(
            f"load {path}", f"its manifest is not that of an index ({fault!r})", "Save the index again."
        ) from fault


def _check_made_under(
    path: str | os.PathLike[str], manifest: Mapping[str, Any], mounted: Mounted, dials: Dials | None
) -> None:
    if manifest["ontology_sha256"] != mounted.ontology.sha256:
        raise FingerprintMismatch(
            f"load {path}",
            f"it was built under {manifest['ontology']} (SHA-256 {manifest['ontology_sha256']}), and mounted is"
            f" {mounted.ontology.label} ({mounted.ontology.sha256})",
            "Mount the ontology that it was built under, or build it anew.",
            field="ontology",
        )
    if manifest["functors_sha256"] != _functors_sha256(mounted):
        raise FingerprintMismatch(
            f"load {path}",
            f"it was built over {manifest['functors']} functors of {manifest['ontology']}, and these are"
            f" {len(mounted.lattice)} others",
            "Mount the ontology with the same further predicates, or build the index anew.",
            field="functors",
        )
    if dials is not None and manifest["dials"] != dials:
        raise FingerprintMismatch(
            f"load {path}",
            f"it was built under the dials {manifest['dials'].canonical_json()}, not {dials.canonical_json()}",
            "Ask with the dials that it was built under, or build it anew.",
            field="dials",
        )


def _functors_sha256(mounted: Mounted) -> str:
    # Beside the SHA-256 of the source: further predicates and a reader of another release number functors differently.
    digest = hashlib.sha256("\0".join(mounted.ids).encode("utf-8", "surrogatepass"))
    for array in (mounted.lattice.parent_ptr, mounted.lattice.parents):
        digest.update(np.ascontiguousarray(array, "<i4").tobytes())
    return digest.hexdigest()


def _arrays_of(corpus: Corpus) -> dict[str, npt.NDArray[Any]]:
    cases = corpus.cases
    arrays: dict[str, npt.NDArray[Any]] = {
        "ptr": cases.ptr,
        "functors": cases.functors,
        "excluded_ptr": cases.excluded_ptr,
        "excluded": cases.excluded,
        "costs": corpus.costs,
        "values": corpus.values,
        "self_scores": corpus.normaliser.self_scores,
        "factors": corpus.normaliser.factors,
        "posting_ptr": corpus.posting_ptr,
        "posting_cases": corpus.posting_cases,
        **_column("keys", cases.keys),
        **_column("set_aside", corpus.set_aside),
    }
    for name, table in (("near", corpus.near), ("below", corpus.below)):
        arrays |= {f"{name}.ptr": table.ptr, f"{name}.ancestors": table.ancestors, f"{name}.hops": table.hops}
    structure = cases.structure
    if structure is not None:
        arrays |= {
            **{f"structure.{name}": getattr(structure, name) for name in _PLAIN},
            **_column("structure.names", structure.names),
            **_column("entities.names", (e.name for e in structure.entities)),
            **_column("entities.types", (e.type for e in structure.entities)),
            "entities.constant": np.array([e.constant for e in structure.entities], np.bool_),
        }
    if structure is not None or corpus.dials.weighing:  # else a kind is a functor
        arrays |= {f"kinds.{name}": getattr(corpus.kinds, name) for name in _KINDS}
        arrays["case_kinds"] = corpus.case_kinds
    if cases.frequencies is not None:
        arrays["frequencies"] = cases.frequencies
    return arrays


def _parts_of(arrays: Arrays, dials: Dials, mounted: Mounted) -> dict[str, Any]:
    """Returns the fields of a corpus, but for the ontology.

    Raises:
        ValueError, KeyError, ShapeError: an array is missing or does not fit the others.
    """
    nested = "structure.order" in arrays
    apart = nested or dials.weighing
    parts = [_FLAT, *([_KINDS_APART] if apart else ()), *([_NESTED] if nested else ())]
    wanted = {name: kind for part in parts for kind, names in part.items() for name in names.split()}
    if "frequencies" in arrays and not nested:
        wanted["frequencies"] = "f"
    if {name: array.dtype.kind for name, array in arrays.items()} != wanted:
        raise ValueError("they are others than an index has")
    keys = _strings(arrays, "keys")
    functors = arrays["functors"]
    structure = _structure_of(arrays) if nested else None
    told = arrays.get("frequencies")
    cases = CaseBatch(keys, arrays["ptr"], functors, arrays["excluded_ptr"], arrays["excluded"], structure, told)
    size, shapes, case_kinds = len(mounted.lattice), Shapes(), functors
    kinds, entities = Kinds.unary(np.arange(size), dials.gamma), np.ones(len(keys), np.int32)
    if apart:
        case_kinds = arrays["case_kinds"]
        kinds = Kinds(*(arrays[f"kinds.{name}"] for name in _KINDS))
        if any(len(arrays[f"kinds.{name}"]) != len(kinds) for name in _KINDS):
            raise ValueError("kinds are of different numbers")
        _fits("kinds.functors", kinds.functors, len(kinds), 2 * size if nested else size)
        _fits("case_kinds", case_kinds, len(functors), len(kinds))
        if (np.diff(kinds.functors) < 0).any():
            raise ValueError("kinds are not in order")
        if not nested and ((kinds.shapes != UNARY).any() or (kinds.functors[case_kinds] != functors).any()):
            raise ValueError("kinds are not those of the statements")
    if structure is not None:
        entities = structure.entity_counts()
        items = np.repeat(np.diff(cases.ptr) + entities, np.diff(cases.ptr))
        arguments = np.repeat(items, np.diff(structure.arg_ptr))
        if ((structure.args < 0) | (structure.args >= arguments)).any():
            raise ValueError("structure.args has numbers of no item")
        shapes = _shapes_of(cases, structure, kinds.shapes[case_kinds])
        size *= 2  # the signed lattice
    tables = {name: _hop_table(arrays, name, size) for name in ("near", "below")}
    _fits("functors", functors, len(functors), len(mounted.lattice))
    _fits("excluded", cases.excluded, len(cases.excluded), len(mounted.lattice))
    _fits("posting_cases", arrays["posting_cases"], len(functors), len(keys))
    _points("posting_ptr", arrays["posting_ptr"], len(kinds), len(functors))
    for name, length in {"costs": size, "values": len(kinds), "self_scores": len(keys), "factors": len(keys)}.items():
        if arrays[name].shape != (length,):
            raise ValueError(f"{name} is not {length} numbers")
    return {
        "dials": dials,
        "cases": cases,
        "costs": arrays["costs"],
        "shapes": shapes,
        "kinds": kinds,
        "case_kinds": case_kinds,
        "entities": entities,
        "values": arrays["values"],
        "normaliser": Normaliser(dials, arrays["self_scores"], arrays["factors"]),
        **tables,
        "posting_ptr": arrays["posting_ptr"],
        "posting_cases": arrays["posting_cases"],
        "set_aside": _strings(arrays, "set_aside"),
    }


def _known(cases: CaseBatch) -> int:
    return 0 if cases.frequencies is None else int((~np.isnan(cases.frequencies)).sum())


def _structure_of(arrays: Arrays) -> Structure:
    named = zip(_strings(arrays, "entities.names"), _strings(arrays, "entities.types"), strict=True)
    constant = arrays["entities.constant"].tolist()
    entities = tuple(Entity(*texts, constant=c) for texts, c in zip(named, constant, strict=True))
    plain = {name: arrays[f"structure.{name}"] for name in _PLAIN}
    return Structure(**plain, entities=entities, names=_strings(arrays, "structure.names"))


def _shapes_of(cases: CaseBatch, structure: Structure, found: npt.NDArray[np.integer]) -> Shapes:
    """Returns the numbers of shapes that the statements of ``cases`` have; ``found`` [S] are those numbers."""
    shapes = Shapes()
    for number, statement in zip(*(a.tolist() for a in np.unique(found, return_index=True)), strict=True):
        case = int(np.searchsorted(cases.ptr, statement, side="right")) - 1
        start, size = int(cases.ptr[case]), len(cases.functors_of(case))
        held = structure.args[structure.arg_ptr[statement] : structure.arg_ptr[statement + 1]].tolist()
        if shapes.number(tuple(int(found[start + a]) if a < size else 0 for a in held)) != number:
            raise ValueError("the numbers of shapes are not those of the statements")
    return shapes


def _hop_table(arrays: Arrays, name: str, size: int) -> HopTable:
    table = HopTable(*(arrays[f"{name}.{part}"] for part in ("ptr", "ancestors", "hops")))
    _points(f"{name}.ptr", table.ptr, size, len(table.hops))
    _fits(f"{name}.ancestors", table.ancestors, len(table.hops), size)
    return table


def _points(name: str, ptr: npt.NDArray[Any], rows: int, entries: int) -> None:
    if ptr.shape != (rows + 1,) or ptr[0] != 0 or ptr[-1] != entries or (np.diff(ptr) < 0).any():
        raise ValueError(f"{name} does not cut {entries} entries into {rows} rows")


def _fits(name: str, numbers: npt.NDArray[Any], length: int, limit: int) -> None:
    if numbers.shape != (length,):
        raise ValueError(f"{name} is not {length} whole numbers")
    if length and not 0 <= int(numbers.min()) <= int(numbers.max()) < limit:
        raise ValueError(f"{name} has numbers outside 0 to {limit - 1}")


def _encoded(text: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text.encode("ascii"), np.uint8)


def _column(name: str, strings: Iterable[str]) -> dict[str, npt.NDArray[Any]]:
    column = StringColumn.from_strings(strings)
    return {f"{name}.utf8": column.blob_array, f"{name}.ends": column.ends}


def _strings(arrays: Arrays, name: str) -> tuple[str, ...]:
    return tuple(StringColumn(arrays[f"{name}.utf8"], arrays[f"{name}.ends"]))
