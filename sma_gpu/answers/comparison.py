"""A batch against an earlier one: whose hits moved, and through which of ontology, records, dials, options and code.

An answer is a function of these and of the query. So where but one of them differs, that one moved the hits. Where
several differ, what can be tried is tried: the moved queries are asked again under the earlier dials. What is left is
named without being told apart; nothing is guessed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..errors import DialError, SmaError
from ..ontologies.records.patients import PatientInput, PatientRecord
from ..scoring import Dials
from ..version import __version__
from .comparison_lines import Earlier, Line, Listed, line_of, listed
from .engine import Engine
from .restriction import Restriction

__all__ = [
    "COMPARISON_SCHEMA", "FACTORS", "Heads", "asking_again", "compare_batches",
]  # fmt: skip

COMPARISON_SCHEMA = "sma-gpu/batch-comparison/1"

FACTORS = ("query", "ontology", "records", "dials", "options", "code")
"""What an answer depends on. The query differs where other ids were asked; options are restrictions, equivalents, and
what is ranked; code is the release."""

Heads = Callable[[Dials, Sequence[str]], Mapping[str, "list[Listed]"]]
"""Returns the hits of the queries with these ids under other dials, all else as it is now."""


def compare_batches(
    earlier: Earlier,
    now: Iterable[Mapping[str, Any]],
    k: int,
    *,
    sha256: str,
    keys: frozenset[str],
    under: Heads | None = None,
) -> dict[str, Any]:
    """Returns what moved from an earlier batch to the answers ``now``: schema ``sma-gpu/batch-comparison/1``.

    Args:
        earlier: the earlier answers.
        now: answers and failed records.
        k: most hits of each of them.
        sha256: SHA-256 of the input.
        keys: what can be a hit now: keys of all records, and of genes where these are ranked.
        under: asks moved queries again under the earlier dials; None where that cannot be done.

    Raises:
        KeyError, TypeError, ValueError: one of ``now`` is no answer.
    """
    places = min(k, earlier.k)
    asked_alike = earlier.input is not None and earlier.input == sha256
    moved: dict[str, tuple[Line, Line, list[str]]] = {}
    counts: Counter[str] = Counter()
    differing: dict[str, dict[str, None]] = {factor: {} for factor in FACTORS}
    seen, nameless = [], 0
    for answer in now:
        name = answer["id"]
        if name is None:
            nameless += 1
            continue
        seen.append(name)
        old = earlier.lines.get(name)
        if old is None:
            continue
        new = line_of(answer)
        factors = _factors(old, new, asked_alike=asked_alike)
        for factor in factors:
            differing[factor][_difference(factor, old, new)] = None
        if _keys(old, places) != _keys(new, places) or old.status != new.status:
            moved[name] = old, new, factors
            counts["top_moved"] += _keys(old, 1) != _keys(new, 1)
        elif old.hits[:places] != new.hits[:places]:
            counts["scores_alone"] += 1
        else:
            counts["same"] += 1
    again = _asked_again(moved, under)
    rows = [_row(name, *pair, places, earlier.release, again.get(name), keys) for name, pair in moved.items()]
    code = "unknown" if earlier.release is None else "same" if earlier.release == __version__ else "differs"
    if code == "differs":
        differing["code"][f"{earlier.release} -> {__version__}"] = None
    return {
        "schema": COMPARISON_SCHEMA,
        "earlier": {"file": earlier.name, "release": earlier.release, "answers": len(earlier.lines) + earlier.nameless},
        "now": {"release": __version__, "answers": len(seen) + nameless},
        "places": places,
        "differs": {factor: [text for text in shown if text] for factor, shown in differing.items() if shown},
        "code": code,
        "only_earlier": [name for name in earlier.lines if name not in set(seen)],
        "only_now": [name for name in seen if name not in earlier.lines],
        "nameless": earlier.nameless + nameless,
        "same": counts["same"],
        "scores_alone": counts["scores_alone"],
        "moved": len(moved),
        "top_moved": counts["top_moved"],
        "through": [
            {"factors": list(factors), "told_apart": told_apart, "queries": count}
            for (factors, told_apart), count in sorted(
                Counter((tuple(row["through"]), row["told_apart"]) for row in rows).items(), key=lambda e: (-e[1], e[0])
            )
        ],
        "queries": rows,
    }


def _difference(factor: str, old: Line, new: Line) -> str:
    """Returns in words how a factor differs; nothing of the query, which differs from line to line."""
    if factor == "query":
        return ""
    if factor == "dials":
        names = [n for n in sorted({*old.dials, *new.dials}) if old.dials.get(n) != new.dials.get(n)]
        return ", ".join(f"{name} {old.dials.get(name)} -> {new.dials.get(name)}" for name in names)
    return f"{old.shown[factor]} -> {new.shown[factor]}"


def _keys(line: Line, places: int) -> list[str]:
    return [hit.key for hit in line.hits[:places]]


def _factors(old: Line, new: Line, *, asked_alike: bool) -> list[str]:
    """Returns what differs between two answers, of what they state; nothing of failed records, which state nothing."""
    if "error" in (old.status, new.status):
        return []
    stated = [factor for factor in FACTORS if factor in old.made_of and old.made_of[factor] != new.made_of[factor]]
    return [*([] if asked_alike or _may_be_asked_alike(old, new) else ["query"]), *stated]


def _may_be_asked_alike(old: Line, new: Line) -> bool:
    """Returns whether one query can have led to both; under one and the same ontology, to the same terms."""
    if old.made_of["ontology"] == new.made_of["ontology"]:
        return old.used == new.used
    return old.asked <= new.perhaps and new.asked <= old.perhaps


def _asked_again(moved: Mapping[str, tuple[Line, Line, list[str]]], under: Heads | None) -> dict[str, list[Listed]]:
    """Returns the hits of moved queries under their earlier dials, of those whose dials differ."""
    found: dict[str, list[Listed]] = {}
    by_dials: dict[str, list[str]] = {}
    for name, (old, _, factors) in moved.items():
        if under is not None and "dials" in factors:
            by_dials.setdefault(json.dumps(old.dials, sort_keys=True), []).append(name)
    for text, names in by_dials.items():
        try:
            dials = Dials.from_mapping(json.loads(text))
        except DialError:  # dials of another release
            continue
        if under is not None:
            found.update(under(dials, names))
    return found


def _row(
    name: str,
    old: Line,
    new: Line,
    factors: list[str],
    places: int,
    release: str | None,
    again: list[Listed] | None,
    keys: frozenset[str],
) -> dict[str, Any]:
    """Returns what is said of one moved query."""
    because = [] if "error" in (old.status, new.status) else _evidence(old, new, factors, places, keys)
    through, told_apart, basis = _through(old, new, places, release, factors, again)
    was = {hit.key: hit for hit in old.hits[:places]}
    now = {hit.key: hit for hit in new.hits[:places]}
    moves = [
        {
            "key": key,
            "name": (now.get(key) or was[key]).name,
            "earlier": was[key].rank if key in was else None,
            "now": now[key].rank if key in now else None,
            "bits_earlier": was[key].bits if key in was else None,
            "bits_now": now[key].bits if key in now else None,
        }
        for key in dict.fromkeys([*now, *was])
        if key not in was or key not in now or was[key].rank != now[key].rank
    ]
    return {
        "id": name,
        "status_earlier": old.status,
        "status_now": new.status,
        "top_earlier": old.hits[0].key if old.hits else None,
        "top_now": new.hits[0].key if new.hits else None,
        "through": through,
        "told_apart": told_apart,
        "basis": basis,
        "evidence": because,
        "moves": moves,
    }


def _through(
    old: Line, new: Line, places: int, release: str | None, factors: list[str], again: list[Listed] | None
) -> tuple[list[str], bool, str]:
    """Returns what moved a query, whether that is told apart from what else differs, and how it is known."""
    if "error" in (old.status, new.status):
        return [*FACTORS], False, "a record that failed does not say what it was made of"
    code = [] if release == __version__ else ["code"]
    unsure = " (the release that made the earlier answers is not known)" if release is None else ""
    rest = [factor for factor in factors if factor != "dials"]
    if not factors:
        same = "; the releases are called alike" if not code else unsure
        return ["code"], True, f"nothing else differs{same}"
    if "dials" in factors and again is not None:
        head = [hit.key for hit in again[:places]]
        left = [*rest, *code] or ["code"]
        if head == _keys(old, places) and bool(again) == (old.status == "hits"):
            return ["dials"], True, "under the earlier dials the hits are the earlier ones"
        if head == _keys(new, places):
            return left, len(left) == 1, f"under the earlier dials the hits are those of now{unsure}"
        return ["dials", *left], len(left) == 1, f"under the earlier dials the hits are others again{unsure}"
    found = [factor for factor in FACTORS if factor in {*factors, *code}]
    if len(found) == 1:
        return found, True, "nothing else differs"
    return found, False, f"these differ together{unsure}"


def _evidence(old: Line, new: Line, factors: list[str], places: int, keys: frozenset[str]) -> list[dict[str, str]]:
    """Returns what shows by itself that a factor had a part, whatever else had one."""
    found = [
        {"factor": "records", "what": f"{hit.key} {hit.name}".strip() + " is not among the records now"}
        for hit in old.hits[:places]
        if hit.key not in keys and "records" in factors
    ]
    if "ontology" in factors and "query" not in factors and old.used != new.used:
        was, now = ({term for term, _ in line.used[0]} for line in (old, new))
        gone, came = (", ".join(sorted(terms)) or "nothing" for terms in (was - now, now - was))
        found.append({"factor": "ontology", "what": f"the query is read otherwise: without {gone}, with {came}"})
    return found


def asking_again(engine: Engine, given: PatientInput, k: int, restriction: Restriction | None) -> Heads:
    """Returns what asks queries of a batch again under other dials, all else being as in ``engine``."""
    records = {record.id: record for record in given.records if isinstance(record, PatientRecord)}

    def under(dials: Dials, names: Sequence[str]) -> dict[str, list[Listed]]:
        try:
            other = engine.with_dials(dials)
            queries = [(name, other.encode(records[name].observed, records[name].excluded)) for name in names]
            answers = other.answers(queries, k, restriction)
            return {name: listed(answer) for name, answer in zip(names, answers, strict=True)}
        except SmaError:  # not under these dials, such as where a bound would be too great
            return {}

    return under
