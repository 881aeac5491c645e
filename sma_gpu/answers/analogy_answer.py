"""The shape of an alignment's answer: ``sma-gpu/analogy/1``, described by ``analogy-1.schema.json`` beside this file.

Fields may be added in later versions; none is renamed. Bits are exact: a score in units of 2^-16 bit, divided by 2^16.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..cases import Vocabulary
from ..cases.case_json import print_case_json
from ..cases.model import Case, Entity, Statement
from ..cases.spelling import statement_lengths, statement_text
from ..errors import CaseError
from ..retrieval.analogy import Analogy, CandidateInference, Correspondence
from ..scoring import to_bits
from .analogy_forest import LINE, Lines, exclusions
from .analogy_text import worthless

__all__ = ["ANALOGY_SCHEMA", "analogy_answer", "analogy_names", "lattice_notes"]

ANALOGY_SCHEMA = "sma-gpu/analogy/1"

_DEEPEST = 64  # statements inside each other in the JSON of an answer, which not every reader takes at any depth
_LONGEST = 1_000_000  # characters of one text or expression
_TOGETHER = 5_000_000  # and of all of them, save that each may have those of a line


def analogy_answer(analogy: Analogy, vocabulary: Vocabulary | None = None, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the answer object.

    Args:
        analogy: what to tell.
        vocabulary: what the cases were read with, or None where no lattice was given.
        notes: sentences on what a reader should know, such as those of ``lattice_notes``. Behind them stand those that
            the answer itself calls for: that nothing is worth anything under these dials, that texts were cut.
    """
    text = Lines(_limit(analogy))
    lengths = statement_lengths([i.statement for i in analogy.inferences])
    excluded = exclusions(analogy)
    answer = {
        "schema": ANALOGY_SCHEMA,
        "dials": analogy.dials.as_dict(),
        "dials_fingerprint": analogy.dials.fingerprint,
        "vocabulary": None if vocabulary is None else _vocabulary(vocabulary),
        "base": _case(analogy.base, analogy.self_base),
        "target": _case(analogy.target, analogy.self_target),
        "score_bits": to_bits(analogy.score),
        "bound_bits": to_bits(analogy.bound),
        "gap_bits": to_bits(analogy.bound - analogy.score),
        "optimal": analogy.optimal,
        "canonical": analogy.canonical,
        "nodes": analogy.nodes,
        "normalised": analogy.normalised,
        "explained": analogy.explained,
        "mapping": [_correspondence(c, text) for c in analogy.mapping],
        "inferences": [
            _inference(i, text, whole=length <= text.limit)
            for i, length in zip(analogy.inferences, lengths, strict=True)
        ],
        "differences": {
            "alignable": [{"base": text(d.base), "target": text(d.target), "via": d.via} for d in analogy.alignable],
            "base_only": [text(s) for s in analogy.base_only],
            "target_only": [text(s) for s in analogy.target_only],
        },
        "contradicted": [
            {
                "base": text(base),
                "target": text(target),
                "excluded_by": "base" if base in excluded[0] else "target" if target in excluded[1] else None,
            }
            for base, target in analogy.contradicted
        ],
    }
    own = [worthless(analogy)] if worthless(analogy) else []
    if text.cut:
        own.append(f"Texts longer than {text.limit:,} characters are cut and end in three full stops: {text.cut}.")
    left_out = sum(length > text.limit for length in lengths)
    if left_out:
        own.append(f"Expressions longer than {text.limit:,} characters are left out, null: {left_out}.")
    return {**answer, "notes": [*notes, *own], "names": analogy_names(analogy, vocabulary)}


def analogy_names(analogy: Analogy, vocabulary: Vocabulary | None) -> dict[str, str]:
    """Returns the names that the lattice has for the predicates of an analogy, where a name is not the id itself."""
    if vocabulary is None:
        return {}
    ontology = vocabulary.mounted.ontology
    used = {s.functor.id for case in (analogy.base, analogy.target) for s in case.walk()}
    used |= {c.via for c in analogy.mapping} | {d.via for d in analogy.alignable}
    used |= {s.functor.id for pair in analogy.contradicted for s in pair}
    named = {term: ontology.names[ontology.number[term]] for term in sorted(used & ontology.number.keys())}
    return {term: name for term, name in named.items() if name and name != term}


def lattice_notes(base: Case, target: Case, vocabulary: Vocabulary | None) -> list[str]:
    """Returns what to know about the lattice: whether there is one, which predicates it lacks, how its file was read.

    Example:
        >>> from sma_gpu.cases import parse_case
        >>> words = Vocabulary.plain()
        >>> sun = parse_case("(hot (entity sun))", words)
        >>> lattice_notes(sun, sun, words)
        ['The lattice lacks 1 predicate, which matches itself alone: hot.']
    """
    if vocabulary is None:
        return ["No lattice was given: every predicate matches itself alone."]
    notes = []
    missing = vocabulary.missing([base, target])
    if missing:
        many = (
            "1 predicate, which matches" if len(missing) == 1 else f"{len(missing)} predicates, each of which matches"
        )
        notes.append(f"The lattice lacks {many} itself alone: {', '.join(missing)}.")
    faults = vocabulary.mounted.ontology.report.faults
    if faults:
        warnings = "1 warning" if len(faults) == 1 else f"{len(faults)} warnings"
        notes.append(f"The lattice was read with {warnings}, the first: {faults[0].message}")
    return notes


def _limit(analogy: Analogy) -> int:
    """Returns how many characters each text of the answer may have, so that all of them fit into memory."""
    texts = 2 * (len(analogy.mapping) + len(analogy.alignable) + len(analogy.contradicted))
    texts += sum(3 + len(i.skolems) + len(i.denied_by) for i in analogy.inferences)
    texts += len(analogy.base_only) + len(analogy.target_only)
    return max(LINE, min(_LONGEST, _TOGETHER // max(1, texts)))


def _vocabulary(vocabulary: Vocabulary) -> dict[str, str]:
    ontology = vocabulary.mounted.ontology
    return {"name": ontology.name, "version": ontology.version, "sha256": ontology.sha256}


def _case(case: Case, self_score: int) -> dict[str, Any]:
    return {
        "key": case.key,
        "name": case.name,
        "statements": sum(1 for _ in case.walk()),
        "self_bits": to_bits(self_score),
    }


def _correspondence(pair: Correspondence, text: Lines) -> dict[str, Any]:
    return {
        "base": text(pair.base),
        "target": text(pair.target),
        "kind": "entity" if isinstance(pair.base, Entity) else "statement",
        "via": pair.via,
        "distance": pair.distance,
        "bits": to_bits(pair.value),
        "grounded": pair.grounded,
    }


def _inference(inference: CandidateInference, text: Lines, *, whole: bool) -> dict[str, Any]:
    return {
        "statement": text(inference.statement),
        "expression": statement_text(inference.statement) if whole else None,
        "json": _as_json(inference.statement) if whole else None,
        "source": text(inference.source),
        "skolems": [text(e) for e in inference.skolems],
        "denied_by": [text(s) for s in inference.denied_by],
        "support_bits": to_bits(inference.support),
        "value_bits": to_bits(inference.value),
    }


def _as_json(statement: Statement) -> Any:
    """Returns ``statement`` as it stands in a case file of JSON, or None where it cannot stand in one."""
    if statement.order > _DEEPEST:
        return None
    try:
        return json.loads(print_case_json(Case("", (statement,))))["statements"][0]
    except CaseError:  # a name that no text can hold, or two entities that no text tells apart
        return None
