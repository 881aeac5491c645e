"""Answers as a table, a row for each hit: the columns of TSV and Parquet, defined once, and TSV itself.

Whatever a column shows stands in the answer object under the name that its description gives. Columns keep their names
and places; later ones are added behind the last. A query without hits has one row, which says why, so that no query is
lost. Numbers are written so that reading them gives the same bits. Names of terms, inferences, facets and paths are
left to JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..cases import EncodedQuery
from ..version import __version__
from .answer import ANSWER_SCHEMA, answer
from .indexed import IndexedDomain
from .restriction import Restriction
from .steadiness import of_answer

__all__ = [
    "COLUMNS",
    "TABLE_SCHEMA",
    "Column",
    "columns_table",
    "empty_answer",
    "head_of",
    "rows_of",
    "tsv_head",
    "tsv_lines",
]

TABLE_SCHEMA = "sma-gpu/hits/1"

KINDS = ("text", "integer", "number", "truth", "json")

# What is the same in every answer of a run, under the names that it has there.
_COMMON = (
    "dials", "dials_fingerprint", "backend", "ontology", "records", "restriction", "equivalents", "by_gene",
    "calibration", "notes",
)  # fmt: skip

_OF_ONE = ("best_confidence", "answered")  # what a threshold says of one answer, not of all

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        name: what stands at its head.
        kind: one of ``KINDS``; ``json`` is a part of the answer object as JSON text.
        meaning: what it says, in words.
        value: its value, of an answer, a hit of it or an empty mapping, and a gene of it or an empty mapping.
    """

    name: str
    kind: str
    meaning: str
    value: Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]], Any]


def _of_answer(name: str, kind: str, meaning: str) -> Column:
    return Column(name, kind, meaning, lambda line, hit, gene: line.get(name))


def _of_hit(name: str, kind: str, meaning: str) -> Column:
    return Column(name, kind, meaning, lambda line, hit, gene: hit.get(name))


def _of_gene(name: str, kind: str, meaning: str, field: str) -> Column:
    return Column(name, kind, meaning, lambda line, hit, gene: gene.get(field))


def _of_reruns(name: str, kind: str, meaning: str, field: str) -> Column:
    return Column(name, kind, meaning, lambda line, hit, gene: hit.get("stability", {}).get(field))


def _of_query(name: str, meaning: str, value: Callable[[Mapping[str, Any]], list[Any]]) -> Column:
    return Column(name, "json", meaning, lambda line, hit, gene: value(line["query"]) if "query" in line else None)


COLUMNS: tuple[Column, ...] = (
    Column("query", "text", "the caller's name for the query (`id`)", lambda line, hit, gene: line.get("id")),
    Column("status", "text", "`hit`, `abstained`, or `error` for a record that failed", lambda line, hit, gene: (
        "error" if "error" in line else "hit" if hit else "abstained"
    )),
    Column("reason", "text", "why there is no hit: `reason` of the answer, or the error", lambda line, hit, gene: (
        "{asked}: {found}. {do}".format(**line["error"]) if "error" in line else line.get("reason")
    )),
    _of_hit("rank", "integer", "place of the record, from 1"),
    _of_hit("rank_merged", "integer", "its place where equivalent records count as one"),
    _of_hit("key", "text", "key of the record"),
    _of_hit("name", "text", "its name"),
    _of_hit("score_bits", "number", "score in bits, a multiple of 2^-16"),
    _of_hit("normalised", "number", "score under the normalisation of the dials"),
    _of_hit("explained", "number", "share of the query that the record explains, 0 to 1"),
    _of_hit("confidence", "number", "see `calibration` in the head"),
    _of_hit("ties", "integer", "other records with exactly this rank key"),
    _of_hit("optimal", "truth", "the mapping is proved best"),
    _of_hit("same_as", "text", "what the record and its twins stand for"),
    _of_hit("twins", "json", "records that stand for the same"),
    _of_hit("mapping", "json", "which term matched which, over which ancestor, for how many bits, on which evidence"),
    _of_hit("unexplained", "json", "terms of the query without a match"),
    _of_hit("contradicted", "json", "what one side has and the other excludes"),
    _of_hit("attributes", "json", "what the source says of the record: its origin, publications, dates, and so on"),
    _of_gene("gene", "text", "key of the gene, where genes are ranked; the columns before are of its record", "key"),
    _of_gene("gene_symbol", "text", "its symbol", "symbol"),
    _of_gene("gene_rank", "integer", "its place among the genes", "rank"),
    _of_gene("gene_with", "integer", "other genes that are found at the same record", "with"),
    _of_query("used", "ids of the terms asked with", lambda q: [u["term"] for u in q["used"] if not u["excluded"]]),
    _of_query("excluded", "ids of the terms excluded", lambda q: [u["term"] for u in q["used"] if u["excluded"]]),
    _of_query("changed", "ids that became others, with the reason", lambda q: q["changed"]),
    _of_query("left_out", "ids that were left out, with the reason", lambda q: q["left_out"]),
    _of_answer("certified", "truth", "the hits are proved to be those of scoring every record"),
    _of_answer("aligned", "integer", "records that a proof has to align"),
    _of_answer("novelty", "number", "novelty of the query, 0 to 1"),
    _of_answer("notes", "json", "remarks on the answer; those that the head has are not repeated"),
    _of_reruns("stability_top1", "number", "share of reruns, with one term changed, in which it is first", "top1"),
    _of_reruns("stability_top5", "number", "share of them in which it is among the first 5", "top5"),
    _of_reruns("stability_best", "integer", "its best rank in them", "best"),
    _of_reruns("stability_worst", "integer", "its worst rank in those in which it has one", "worst"),
    _of_reruns("stability_unranked", "integer", "number of them in which it has none", "unranked"),
    _of_reruns("stability_runs", "integer", "number of reruns", "runs"),
    _of_hit("not_separable", "json", "which of the ten best records tie or change places with it without one term"),
    _of_answer("novel", "truth", "novelty reaches the calibrated threshold"),
    Column("best_confidence", "number", "of the best hit, where answers can be withheld", lambda line, hit, gene: (
        (line.get("threshold") or {}).get("best_confidence")
    )),
)  # fmt: skip


def head_of(answer: Mapping[str, Any], *, k: int | None = None, sha256: str = "") -> dict[str, Any]:
    """Returns what stands above a table: versions, fingerprints, and what all its answers have in common.

    Args:
        answer: an answer of the run; ``empty_answer`` makes one that has nothing of its own.
        k: most hits of a query; None where a record was named instead.
        sha256: SHA-256 of the input of a batch; empty for none.
    """
    told = {"format": TABLE_SCHEMA, "answers": ANSWER_SCHEMA, "release": __version__, "k": k, "input": sha256 or None}
    reruns = {name: answer["stability"][name] for name in ("asked", "seed")} if "stability" in answer else None
    rule = {name: part for name, part in (answer.get("threshold") or {}).items() if name not in _OF_ONE} or None
    return told | {"stability": reruns, "threshold": rule} | {name: answer[name] for name in _COMMON if name in answer}


def empty_answer(
    source: IndexedDomain, restriction: Restriction | None, *, stability: int = 0, seed: int = 0
) -> dict[str, Any]:
    """Returns an answer to nothing, which holds what all answers of ``source`` have in common."""
    nothing = EncodedQuery(np.zeros(0, np.int32), np.zeros(0, np.int32), (), (), (), 0)
    return answer(
        source, nothing, None, None, hits=[], certified=True, aligned=0, novelty=None, restriction=restriction,
        more=of_answer(None, 0, stability, seed),
    )  # fmt: skip


def rows_of(line: Mapping[str, Any], head: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Yields the rows of an answer or of a failed record: a value for each column, None where there is none.

    Args:
        line: the answer object, or ``{"id", "error"}``.
        head: made by ``head_of``.
    """
    if "notes" in line:
        said = set(head["notes"])
        line = {**line, "notes": [note for note in line["notes"] if note not in said]}
    hits: list[Mapping[str, Any]] = list(line.get("hits", ()))
    genes: list[Mapping[str, Any]] = list(line.get("genes", ()))
    pairs: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = [(hit, {}) for hit in hits] or [({}, {})]
    if genes:
        by_key = {hit["key"]: hit for hit in hits}
        pairs = [(by_key[gene["case"]], gene) for gene in genes]
    for hit, gene in pairs:
        yield [_plain(column.kind, column.value(line, hit, gene)) for column in COLUMNS]


def _plain(kind: str, value: Any) -> Any:
    """Returns a value as it is kept in a column of this kind; half of a surrogate pair is written as an escape."""
    if value is None:
        return None
    if kind == "json":
        value = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if kind in ("json", "text"):
        return str(value).encode("utf-8", "backslashreplace").decode("utf-8")
    return float(value) if kind == "number" else value


def tsv_head(head: Mapping[str, Any]) -> str:
    """Returns what a TSV file begins with: a line ``# NAME: JSON`` for each entry of the head, and the column names."""
    lines = [f"# {name}: {_plain('json', value)}" for name, value in head.items() if value is not None]
    return "\n".join([*lines, "\t".join(column.name for column in COLUMNS)]) + "\n"


def tsv_lines(line: Mapping[str, Any], head: Mapping[str, Any]) -> str:
    r"""Returns the rows of an answer as TSV, without quotes.

    A text has ``\t``, ``\n``, ``\r`` and ``\\`` for a tab, an end of line and a backslash; JSON has no such characters
    outside its own escapes, and stands as it is.
    """
    rows = ("\t".join(map(_cell, COLUMNS, row)) for row in rows_of(line, head))
    return "".join(f"{row}\n" for row in rows)


def _cell(column: Column, value: Any) -> str:
    if value is None:
        return ""
    if column.kind == "text":
        return str(value).translate(_ESCAPES)
    return str(value).lower() if column.kind == "truth" else str(value)  # of a float, the shortest text of its bits


def columns_table() -> str:
    """Returns the columns as a table in Markdown, for the documentation."""
    rows = [f"| `{column.name}` | {column.kind} | {column.meaning} |" for column in COLUMNS]
    return "\n".join(["| column | kind | what it says |", "| --- | --- | --- |", *rows]) + "\n"
