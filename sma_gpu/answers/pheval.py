"""Answers as the result tables of one tool that PhEval compares with others.

PhEval (https://monarch-initiative.github.io/pheval/) takes from a tool, for each phenopacket, a table of diseases with
``disease_identifier`` and ``score``, or of genes with ``gene_symbol``, ``gene_identifier`` and ``score``; the rank that
counts there it gives itself, by the score. Ours stands beside it, and is the one with proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from ..errors import QueryError
from ..ontologies.records.patients import BadRecord, PatientInput, PatientRecord
from .batch import answer_lines
from .engine import Engine
from .restriction import Restriction

__all__ = ["DISEASE_COLUMNS", "GENE_COLUMNS", "RAW_FOLDER", "pheval_text", "result_stems", "write_pheval"]

RAW_FOLDER = "raw_results"
"""Folder, below that of a run, in which PhEval expects the tables of a tool."""

DISEASE_COLUMNS = ("rank", "rank_merged", "score", "disease_identifier", "disease_name", "grouping_id")
GENE_COLUMNS = ("rank", "score", "gene_symbol", "gene_identifier", "disease_identifier")

_FILED = ("folder", "zip", "tar", "phenopacket")  # forms of input whose every record is a file, or one of a cohort


def pheval_text(answer: Mapping[str, Any]) -> str:
    """Returns the table of an answer, tab-separated under a column header; without rows where it has no hits.

    ``score`` is the normalised score of the disease, which never rises down the ranks: where a rounding of the
    normalisation would let it, the one above stands again. ``grouping_id`` is what a disease and its twins stand for,
    or its own id. A gene has the score of the disease that carries it.

    Args:
        answer: the answer object; that of an engine that ranks genes gives a table of genes.

    Raises:
        QueryError: the answer is not about diseases.
    """
    if answer["records"]["entity"] != "disease":
        raise QueryError("results for PhEval", "the answer is not about diseases", "Choose another form of the answer.")
    columns = GENE_COLUMNS if "genes" in answer else DISEASE_COLUMNS
    rows = _genes(answer) if "genes" in answer else _diseases(answer)
    return "".join("\t".join(map(_cell, cells)) + "\n" for cells in (columns, *rows))


def result_stems(given: PatientInput) -> list[str]:
    """Returns the name of the tables of each record: that of its file, as PhEval wants, or its id where it has none.

    Raises:
        QueryError: an id can be no file name, or two records would have one table.
    """
    seen: dict[str, str] = {}
    for number, record in enumerate(given.records, 1):
        filed = given.form in _FILED and record.where and not record.where.endswith("]")
        stem = PurePath(record.where).stem if filed else record.id or f"record-{number}"
        if stem in ("", ".", "..") or "/" in stem or "\0" in stem:
            raise QueryError(f"a table for {stem!r}", "this id can be no file name", "Rename the record.")
        if stem in seen:
            found = f"{seen[stem]} and {record.where} would have one table"
            raise QueryError(f"a table for {stem!r}", found, "Rename one of them.")
        seen[stem] = record.where
    return list(seen)


def write_pheval(
    engine: Engine, given: PatientInput, k: int, folder: Path, restriction: Restriction | None = None
) -> Iterator[dict[str, Any]]:
    """Writes a table for each record into ``RAW_FOLDER`` below ``folder``, and yields each answer or failed record.

    A failed record has no table, and one from an earlier run is removed.

    Args:
        engine: the domain to ask.
        given: the records.
        k: most hits wanted for each.
        folder: the folder of the run; made where it is not there.
        restriction: the only cases that can be hits; all where it is None.

    Raises:
        QueryError: see ``pheval_text`` and ``result_stems``.
    """
    stems = result_stems(given)
    raw = folder / RAW_FOLDER
    raw.mkdir(parents=True, exist_ok=True)
    kind = "disease" if engine.genes is None else "gene"
    records: Sequence[PatientRecord | BadRecord] = given.records
    for stem, line in zip(stems, answer_lines(engine, records, k, restriction), strict=True):
        path = raw / f"{stem}-{kind}.tsv"
        if "error" in line:
            path.unlink(missing_ok=True)
        else:
            path.write_text(pheval_text(line), encoding="utf-8")
        yield line


def _diseases(answer: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    for hit, score in zip(answer["hits"], _scores(answer["hits"]), strict=True):
        together = hit.get("same_as") or hit["key"]
        yield hit["rank"], hit["rank_merged"], score, hit["key"], hit["name"], together


def _genes(answer: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    keys = [hit["key"] for hit in answer["hits"]]
    scores = dict(zip(keys, _scores(answer["hits"]), strict=True))
    for gene in answer["genes"]:
        yield gene["rank"], scores[gene["case"]], gene["symbol"], gene["key"], gene["case"]


def _scores(hits: Sequence[Mapping[str, Any]]) -> list[float]:
    found: list[float] = []
    for hit in hits:
        found.append(min([float(hit["normalised"]), *found[-1:]]))
    return found


def _cell(value: object) -> str:
    return " ".join(str(value).split()) if isinstance(value, str) else repr(value)
