"""What an adapter is made of, frozen: the file ``adapter.lock`` beside an index of one's own.

An adapter is all that decides an answer: ontology, records and the files that go with them, dials, the version of the
query encoder, the index with its calibration. The lock states each by version and SHA-256, and what a few fixed queries
out of the index itself are answered, so that not the ingredients alone are compared but also what comes of them. It
holds no clock, no path and no key of a record: the same ingredients give the same bytes on every machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..cases.encoder import ENCODER_VERSION
from ..errors import ArtifactError, DataMissing, DialError
from ..ontologies.companions import companion
from ..ontologies.compiled import ontology_to_arrays
from ..ontologies.manifest import manifests
from ..ontologies.source import read_source
from ..scoring import Dials
from ..scoring.foreign import package_of
from ..trust.calibration import Calibration
from ..trust.places import TIES
from ..version import __version__
from .engine import Engine
from .own_index import is_ready

__all__ = [
    "CARD", "LOCK", "MEASURES", "SCHEMA", "adapter_of", "calibration_part", "canonical_json", "evaluation_part",
    "lock_path", "lock_text", "read_lock", "sealed",
]  # fmt: skip

LOCK = "adapter.lock"
CARD = "MODEL_CARD.md"
SCHEMA = "sma-gpu/adapter-lock/1"
MEASURES = ("top1", "top5", "top10", "mrr")
PROBES = 20
PROBE_K = 5

_FIELDS = {
    "schema", "domain", "catalogued", "entity", "language", "sample", "ontology", "records", "mappings", "genes",
    "dials", "dials_fingerprint", "scorer", "encoder_version", "index", "calibration", "evaluation", "probes",
    "made_with", "sha256",
}  # fmt: skip
_TEXTS = {
    "ontology": "name version sha256 content_sha256",
    "records": "name version sha256 content_sha256 reader kind selection",
    "mappings": "version sha256",
    "genes": "sha256",
    "dials": "",
    "scorer": "name package version",
    "index": "fingerprint",
    "probes": "",
    "made_with": "sma_gpu",
}
"""Texts in each part of a lock; that of a scorer of ours has no package and no version."""
_NUMBERS = {
    "ontology": "terms retired",
    "records": "count annotations",
    "mappings": "mapped groups",
    "index": "cases set_aside",
    "probes": "k",
}
_PLAIN: dict[str, Any] = {
    "domain": str | None, "catalogued": str | None, "entity": str, "language": str, "sample": bool,
    "encoder_version": int,
}  # fmt: skip
_MAY_LACK = ("mappings", "genes")
_AGAIN = "Freeze the adapter again: sma-gpu adapter freeze."


def adapter_of(
    name: str,
    engine: Engine,
    *,
    language: str,
    calibration: Calibration | None = None,
) -> dict[str, Any]:
    """Returns the content of a lock: all that decides what ``engine`` answers.

    Args:
        name: what was opened: a domain, a folder with its files, or an index of one's own.
        engine: the engine, opened with its mappings if it is to have any.
        language: of the names of terms.
        calibration: of this index, None where there is none.
    """
    domain, index = engine.domain, engine.index
    manifest, ontology, records = domain.manifest, domain.mounted.ontology, domain.records
    package, version = package_of(index.dials.scorer) or (None, None)
    twins = engine.twins
    return {
        "schema": SCHEMA,
        "domain": manifest.domain if is_ready(manifest) else None,
        "catalogued": manifest.domain if manifest.domain and not is_ready(manifest) else None,
        "entity": manifest.entity,
        "language": language,
        "sample": _is_sample(engine),
        "ontology": {
            "name": ontology.name,
            "version": ontology.version,
            "sha256": ontology.sha256,
            "content_sha256": _arrays_sha256(ontology_to_arrays(ontology)),
            "terms": ontology.live_count,
            "retired": ontology.retired_count,
        },
        "records": {
            "name": records.name,
            "version": records.version,
            "sha256": records.sha256,
            "content_sha256": _arrays_sha256(records.to_arrays()),
            "reader": manifest.records.reader,
            "kind": domain.selection if manifest.records.kinds else "",
            "selection": domain.selection,
            "count": len(records),
            "annotations": len(records.term),
        },
        "mappings": None
        if twins is None
        else {
            "version": twins.equivalents.version,
            "sha256": twins.equivalents.sha256,
            "mapped": twins.equivalents.mapped,
            "groups": twins.equivalents.joined,
        },
        "genes": _genes_of(name, manifest.domain),
        "dials": index.dials.as_dict(),
        "dials_fingerprint": index.dials.fingerprint,
        "scorer": {"name": index.dials.scorer, "package": package, "version": version},
        "encoder_version": ENCODER_VERSION,
        "index": {"fingerprint": index.fingerprint, "cases": len(index), "set_aside": len(index.set_aside)},
        "calibration": None if calibration is None else calibration_part(calibration.as_dict()),
        "evaluation": None,  # nothing that an engine tells of itself
        "probes": {"k": PROBE_K, "answers": _probe_answers(engine)},
        "made_with": {"sma_gpu": __version__},
    }


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the lock of this content: with the SHA-256 of it all, by which a later change of a byte shows."""
    plain = {name: value for name, value in content.items() if name != "sha256"}
    return {**plain, "sha256": hashlib.sha256(canonical_json(plain).encode()).hexdigest()}


def lock_text(lock: Mapping[str, Any]) -> str:
    """Returns the text of a lock, the one there is: keys in code-point order, ASCII."""
    return json.dumps(lock, indent=1, sort_keys=True) + "\n"


def canonical_json(value: object) -> str:
    """Returns the one JSON text of a value: keys in code-point order, no blanks, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def lock_path(place: Path) -> Path:
    """Returns the lock in the folder ``place``, or ``place`` itself where that is no folder."""
    return place / LOCK if place.is_dir() else place


def read_lock(path: Path) -> dict[str, Any]:
    """Returns the lock in the file ``path``.

    Raises:
        DataMissing: there is no such file, or it cannot be read.
        ArtifactError: it is damaged, changed, no lock of an adapter, or of a newer release.
    """
    asked = f"read the lock {path}"
    try:
        raw = path.read_bytes()
    except OSError as fault:
        what = f"it cannot be read ({fault.strerror or fault})"
        raise DataMissing(asked, what, "Name a folder that sma-gpu adapter freeze wrote, or its lock.") from fault
    try:
        found = json.loads(raw.decode("utf-8"), object_pairs_hook=_without_doubles)
        canonical_json(found)  # what is no finite number has no JSON text
    except (ValueError, RecursionError) as fault:
        raise ArtifactError(asked, f"it is cut or damaged ({fault})", _AGAIN) from fault
    kind, _, number = SCHEMA.rpartition("/")
    schema = found.get("schema") if isinstance(found, dict) else None
    of, _, stated = schema.rpartition("/") if isinstance(schema, str) else ("", "", "")
    if of != kind or not stated.isdecimal():
        raise ArtifactError(asked, "it is no lock of an adapter", f"Name a file {LOCK} that sma-gpu wrote.")
    if stated != number:
        by = found.get("made_with")
        release = f", written by release {by['sma_gpu']}" if isinstance(by, dict) and "sma_gpu" in by else ""
        raise ArtifactError(
            asked,
            f"it has format {stated}{release}, and this release ({__version__}) reads format {number}",
            "Use a release that reads it, or freeze the adapter again with this one.",
        )
    if found.get("sha256") != sealed(found)["sha256"]:
        what = "its content does not have the SHA-256 at its end: it was changed after it was frozen"
        raise ArtifactError(asked, what, f"Take the lock as it was frozen. {_AGAIN}")
    try:
        _check_shape(found)
    except (KeyError, TypeError, ValueError, AttributeError, DialError) as fault:
        raise ArtifactError(asked, f"its fields are not those of a lock ({fault})", _AGAIN) from fault
    return dict(found)


def calibration_part(found: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a lock says of a calibration: what it is, what it rests on, and how it held on cases not seen.

    Args:
        found: ``Calibration.as_dict()``, or the part of a lock.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it has not the form of one.
    """
    rests_on, figures = found["rests_on"], found["figures"]
    return {
        "fingerprint": str(found["fingerprint"]),
        "method": str(found["method"]),
        **{name: int(found[name]) for name in ("queries", "groups", "folds", "seed")},
        "rests_on": {
            **{name: str(rests_on[name]) for name in ("index", "split")},
            **{name: int(rests_on[name]) for name in ("stability_runs", "stability_seed")},
            "generalisations": bool(rests_on["generalisations"]),
        },
        "figures": {part: _numbers(of_part, of_part) for part, of_part in sorted(figures.items())},
    }


def evaluation_part(found: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a lock says of an evaluation: its figures, and nothing of single cases.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it has not the form of one.
    """
    counts = ("evaluated", "without_answer", "truth_no_hit", "new", "seen")
    return {
        "sha256": str(found["sha256"]),
        "input": {name: str(found["input"][name]) for name in ("sha256", "form")},
        "restricted": bool(found["restricted"]),
        "counts": {name: int(found["counts"][name]) for name in counts},
        "bootstrap": {
            **{name: int(found["bootstrap"][name]) for name in ("draws", "seed")},
            "level": float(found["bootstrap"]["level"]),
        },
        "slices": [
            {
                "name": str(part["name"]),
                "cases": int(part["cases"]),
                "entities": int(part["entities"]),
                **{rule: _figures(part[rule]) for rule in ("strict", "merged")},
            }
            for part in found["slices"]
        ],
    }


def _figures(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return (
        None
        if found is None
        else {
            ties: {measure: _numbers(found[ties][measure], ("value", "low", "high")) for measure in MEASURES}
            for ties in TIES
        }
    )


def _numbers(found: Mapping[str, Any], names: Iterable[str]) -> dict[str, float | None]:
    """Returns some of the numbers by name; None for one that is not defined."""
    return {name: None if found[name] is None else float(found[name]) for name in names}


def _check_shape(lock: Mapping[str, Any]) -> None:
    """Raises KeyError, TypeError, ValueError, AttributeError or DialError where a lock has not the form of one."""
    if set(lock) != _FIELDS:
        raise ValueError(f"other names: {', '.join(sorted(set(lock) ^ _FIELDS))}")
    for part, texts in _TEXTS.items():
        held = lock[part]
        if held is None and part in _MAY_LACK:
            continue
        wrong = [name for name in texts.split() if not isinstance(held[name], str | None)]
        wrong += [name for name in _NUMBERS.get(part, "").split() if type(held[name]) is not int]
        if wrong:
            raise ValueError(f"{part}.{wrong[0]} is {held[wrong[0]]!r}")
    for name, kind in _PLAIN.items():
        if not isinstance(lock[name], kind) or (kind is int and isinstance(lock[name], bool)):
            raise ValueError(f"{name} is {lock[name]!r}")
    if Dials.from_mapping(lock["dials"]).as_dict() != lock["dials"]:
        raise ValueError("the dials are not all there")
    for probe in lock["probes"]["answers"]:
        if type(probe["case"]) is not int or not isinstance(probe["sha256"], str):
            raise ValueError(f"a fixed query is {probe!r}")
    for part, made in (("calibration", calibration_part), ("evaluation", evaluation_part)):
        if lock[part] is not None and canonical_json(made(lock[part])) != canonical_json(lock[part]):
            raise ValueError(f"the {part} has other fields")


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _probe_answers(engine: Engine) -> list[dict[str, Any]]:
    """Returns what cases spread evenly over the index are answered when their terms are the query.

    Each is told by its number, so that no key of a record leaves with the lock, and by the SHA-256 of its answer: key,
    rank key and score in units of each hit, best first.
    """
    index = engine.index
    count = min(PROBES, len(index))
    numbers = [place * len(index) // count for place in range(count)]
    queries = [engine.encode(engine.ids(index.cases.functors_of(number))) for number in numbers]
    batch = CaseBatch.from_functors([""] * count, [query.present for query in queries])
    hits = index.retrieve(batch, PROBE_K, backend=engine.backend)
    found = []
    for row, number in enumerate(numbers):
        held = np.flatnonzero(hits.rank[row])
        told = [[hits.keys[row, p], int(hits.rank_keys[row, p]), int(hits.score_q[row, p])] for p in held.tolist()]
        found.append({"case": number, "sha256": hashlib.sha256(canonical_json(told).encode()).hexdigest()})
    return found


def _genes_of(name: str, domain: str) -> dict[str, Any] | None:
    file = companion(name, domain, "genes")
    return None if file is None else {"sha256": read_source(file.path).content_sha256}


def _is_sample(engine: Engine) -> bool:
    """Returns whether the ontology is the small sample that is bundled for its domain."""
    known = manifests().get(engine.domain.manifest.domain)
    if known is None or not known.ontology.sample:
        return False
    path = files("sma_gpu.ontologies") / "samples" / known.ontology.sample
    return read_source(path.read_bytes()).content_sha256 == engine.domain.mounted.ontology.sha256


def _arrays_sha256(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Returns the SHA-256 of named arrays: of name, type, shape and bytes of each, by name."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(canonical_json([name, little.dtype.str, list(array.shape)]).encode())
        digest.update(little.tobytes())
    return digest.hexdigest()
