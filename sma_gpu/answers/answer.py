"""The shape of an answer: ``sma-gpu/answer/1``, described by ``answer-1.schema.json`` beside this file.

Fields may be added in later versions; none is renamed. Bits are exact: a score in units of 2^-16 bit, divided by 2^16.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..cases import EncodedQuery
from ..cases.model import SUBJECT
from ..ontologies.domains import term_path
from ..ontologies.records.model import Records
from ..retrieval import Contradiction, Explanation, Pairing
from ..scoring import to_bits
from ..trust import confidence
from .indexed import IndexedDomain
from .restriction import Restriction

__all__ = ["ANSWER_SCHEMA", "COMPARISON_SCHEMA", "answer", "comparison", "hit"]

ANSWER_SCHEMA = "sma-gpu/answer/1"
COMPARISON_SCHEMA = "sma-gpu/comparison/1"

_PARTS_WITH_TERMS = ("query", "hits", "shared", "only_a", "only_b", "contradicted")


def answer(
    source: IndexedDomain,
    query: EncodedQuery,
    query_id: str | None,
    reason: str | None,
    *,
    hits: list[dict[str, Any]],
    certified: bool,
    aligned: int,
    novelty: float | None,
    restriction: Restriction | None = None,
    genes: list[dict[str, Any]] | None = None,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Returns the answer object.

    Args:
        source: the domain asked.
        query: the encoded query.
        query_id: the caller's name for it, or None.
        reason: why the answer abstains, or None.
        hits: made by ``hit``, best first.
        certified: the hits are proved to be those of scoring every case.
        aligned: number of cases whose bound alone does not place them after the last hit asked for.
        novelty: of the query, or None where it could not be compared with anything.
        restriction: the only cases that could be hits, or None for all.
        genes: the genes ranked by these hits, best first, or None where genes are not ranked.
        more: fields beside these or in their place, on reruns with one term changed and by a calibration.
    """
    ontology, records, dials = source.domain.mounted.ontology, source.domain.records, source.index.dials
    sought = [] if restriction is None else [restriction.note(source.domain.manifest.entity)]
    sought += [] if source.calibrated is None else source.calibrated.notes(hits, restriction)
    result = {
        "schema": ANSWER_SCHEMA,
        "id": query_id,
        "dials": dials.as_dict(),
        "dials_fingerprint": dials.fingerprint,
        "backend": source.backend,
        "ontology": {"name": ontology.name, "version": ontology.version, "sha256": ontology.sha256},
        "records": {
            "entity": source.domain.manifest.entity,
            "version": records.version,
            "sha256": records.sha256,
            "selection": source.domain.selection,
            "cases": len(source.index),
            "set_aside": len(source.index.set_aside),
            **({} if source.left_out is None else {"without_sources": source.left_out.as_dict()}),
        },
        "query": _query(source, query),
        "restriction": None if restriction is None else restriction.as_dict(),
        "equivalents": None if source.twins is None else source.twins.as_dict(merged=source.merge),
        "certified": certified,
        "aligned": aligned,
        "abstained": reason is not None,
        "reason": reason,
        "novelty": novelty,
        "novel": None,
        "calibration": None if source.calibrated is None else dict(source.calibrated.told),
        "threshold": None if source.calibrated is None else source.calibrated.rule(None),
        "notes": [*query.notes, *sought, *source.domain.notes, source.domain.manifest.notice],
        "hits": hits,
    }
    if source.genes is not None:
        result |= {"by_gene": source.genes.as_dict(), "genes": genes or []}
    result |= more
    return result | _with_paths(source, _names(source, result))


def hit(
    source: IndexedDomain, query: EncodedQuery, account: Explanation, case: int, rank: int, rank_merged: int, ties: int
) -> dict[str, Any]:
    """Returns one hit of an answer."""
    index, records = source.index, source.domain.records
    self_query = index.self_score(query.present)
    record, annotations = records.index(index.keys[case]), source.annotations_of(case)
    facets = {}
    if source.facets:
        facets["facets"] = source.facets.account(query.present, index.cases.functors_of(case), index.holders)
    return {
        "key": index.keys[case],
        "name": records.names[record],
        "rank": rank,
        "rank_merged": rank_merged,
        **({} if source.twins is None else source.twins.of(case)),
        "score_bits": to_bits(account.score),
        "normalised": index.normaliser.normalised(account.score, self_query, case),
        "explained": account.explained,
        "confidence": confidence(account.explained),
        "optimal": True,
        "ties": ties,
        "mapping": [
            {**_pairing(source, p), "evidence": _evidence(records, annotations[p.stored])} for p in account.mapping
        ],
        "unexplained": _terms(source, account.unexplained, "query", query),
        "contradicted": [_contradiction(source, c) for c in account.contradicted],
        "inferences": [
            {"statement": f"{term}({SUBJECT.name})", "functor": term, "bits": to_bits(i.value)}
            for i, term in zip(account.inferences, source.ids(i.functor for i in account.inferences), strict=True)
        ],
        "attributes": {name: list(values) for name, values in source.attributes.of(record).items()},
        **facets,
    }


def comparison(source: IndexedDomain, first: int, second: int, account: Explanation) -> dict[str, Any]:
    """Returns the comparison of two cases, the first in the place of the query."""
    index, records = source.index, source.domain.records
    matched_a = {p.query for p in account.mapping}
    matched_b = {p.stored for p in account.mapping}
    shared = [
        {"a": pair["query"], "b": pair["case"], "via": pair["via"], "distance": pair["distance"], "bits": pair["bits"]}
        for pair in (_pairing(source, p) for p in sorted(account.mapping, key=lambda p: (-p.value, p.query)))
    ]
    sides = {
        name: {
            "key": index.keys[case],
            "name": records.names[records.index(index.keys[case])],
            "terms": len(index.cases.functors_of(case)),
            "self_bits": to_bits(int(index.normaliser.self_scores[case])),
        }
        for name, case in (("a", first), ("b", second))
    }
    result = {
        "schema": COMPARISON_SCHEMA,
        "dials": index.dials.as_dict(),
        "dials_fingerprint": index.dials.fingerprint,
        **sides,
        "score_bits": to_bits(account.score),
        "shared": shared,
        "only_a": _only(source, first, matched_a),
        "only_b": _only(source, second, matched_b),
        "contradicted": [_contradiction(source, c) for c in account.contradicted],
        "notes": [*source.domain.notes, source.domain.manifest.notice],
    }
    return result | _with_paths(source, _names(source, result))


def _query(source: IndexedDomain, query: EncodedQuery) -> dict[str, Any]:
    present = _terms(source, query.present, "term", query)
    if source.facets:
        present = [{**t, "holders": source.holders_of(f)} for f, t in zip(query.present.tolist(), present, strict=True)]
    return {
        "used": [
            *({**t, "excluded": False} for t in present),
            *({**t, "excluded": True} for t in _terms(source, query.excluded, "term", query)),
        ],
        "changed": [{"asked": c.asked, "used": c.used, "path": list(c.path), "why": c.why} for c in query.changed],
        "left_out": [
            {"asked": o.asked, "kind": o.kind, "why": o.why, "candidates": list(o.candidates)} for o in query.left_out
        ],
    }


def _terms(source: IndexedDomain, functors: Iterable[int], role: str, query: EncodedQuery) -> list[dict[str, Any]]:
    """Returns terms with what each is worth in a query."""
    numbers = np.array([int(f) for f in functors], np.int32)
    values = source.index.values_of(query.present, numbers).tolist()
    return [{role: term, "bits": to_bits(value)} for term, value in zip(source.ids(numbers), values, strict=True)]


def _only(source: IndexedDomain, case: int, matched: set[int]) -> list[dict[str, Any]]:
    index = source.index
    stated = zip(index.cases.functors_of(case).tolist(), index.stored_values(case).tolist(), strict=True)
    rest = sorted(((f, value) for f, value in stated if f not in matched), key=lambda pair: (-pair[1], pair[0]))
    ids = source.ids(functor for functor, _ in rest)
    return [{"term": term, "bits": to_bits(value)} for term, (_, value) in zip(ids, rest, strict=True)]


def _pairing(source: IndexedDomain, pair: Pairing) -> dict[str, Any]:
    query, stored, via = source.ids((pair.query, pair.stored, pair.via))
    return {"query": query, "case": stored, "via": via, "distance": pair.distance, "bits": to_bits(pair.value)}


def _contradiction(source: IndexedDomain, found: Contradiction) -> dict[str, Any]:
    query, stored = source.ids((found.query, found.stored))
    return {"query": query, "case": stored, "ruled_out_by": found.ruled_out_by}


def _evidence(records: Records, annotation: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "references": records.evidence_texts(annotation, "reference"),
        "codes": records.evidence_texts(annotation, "evidence"),
    }
    descriptions = records.evidence_texts(annotation, "description")
    if descriptions:
        found["descriptions"] = descriptions
    frequency = records.frequency_of(annotation)
    if frequency is not None:
        found["frequency"] = {"low": frequency.low, "high": frequency.high}
        if frequency.denominator is not None:
            found["frequency"] |= {"affected": frequency.numerator, "examined": frequency.denominator}
    return found


def _with_paths(source: IndexedDomain, names: dict[str, str]) -> dict[str, Any]:
    """Returns the names, and where the domain wants so the way from the top down to each term, with its names too."""
    if not source.domain.manifest.paths:
        return {"names": names}
    ontology = source.domain.mounted.ontology
    paths = {term: [ontology.ids[i] for i in term_path(ontology, ontology.number[term])] for term in names}
    above = sorted({term for path in paths.values() for term in path})
    return {"names": {term: source.name_of(term) for term in above}, "paths": paths}


def _names(source: IndexedDomain, result: dict[str, Any]) -> dict[str, str]:
    """Returns the name of every term id that stands anywhere in the answer."""
    known = source.domain.mounted.ontology.number
    texts: set[str] = set()
    open_values: list[Any] = [result[part] for part in _PARTS_WITH_TERMS if part in result]
    while open_values:
        value = open_values.pop()
        for part, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(item, str):
                texts.add(item)
            elif part == "inferences":  # hundreds a hit
                texts.update(inference["functor"] for inference in item)
            elif isinstance(item, (dict, list)) and part != "evidence":
                open_values.append(item)
    return {term: source.name_of(term) for term in sorted(texts & known.keys())}
