"""Filings with the SEC in JSON: one filing a line, or facts as the SEC's interface gives them.

These are all facts of a company (``companyfacts``), those of one concept (``companyconcept``), or what all companies
said of one concept in one period (``frames``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import ParseError, QueryError
from ..json_source import json_of
from ..ontology import Ontology
from ..report import LoadReport
from ..source import SourceLike, read_source
from ..stream import HashedStream, line_blocks, members, only_member, reading
from .model import Records
from .sec_names import iso_date
from .structured import parse_json
from .tables_rows import RowCollector

__all__ = ["can_read_facts", "can_read_filings", "read_company_facts", "read_filings"]

_ATTRIBUTES = {
    "company": "name", "cik": "cik", "form": "form", "date": "filed", "period": "period", "fiscal-year": "fy",
    "fiscal-period": "fp", "sic": "sic", "quarter": "quarter", "taxonomy": "taxonomy",
}  # fmt: skip
_DATES = frozenset({"filed", "period"})


def can_read_filings(head: bytes) -> bool:
    """Returns whether ``head``, the uncompressed start of a file, is a filing a line in JSON."""
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n", 1)[0]
    return first.startswith(b"{") and b'"adsh"' in first and b'"concepts"' in first


def can_read_facts(head: bytes) -> bool:
    """Returns whether ``head``, the uncompressed start of a file, is facts as the SEC's interface gives them."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start.startswith(b"{"):
        return False
    of_concept = b'"taxonomy"' in start and b'"tag"' in start and (b'"units"' in start or b'"ccp"' in start)
    return of_concept or (b'"entityName"' in start and b'"facts"' in start)


def read_filings(source: SourceLike, ontology: Ontology, *, strict: bool = False, name: str | None = None) -> Records:
    r"""Returns the filings in a JSONL file as records of the concepts that they use.

    Each line is an object with ``adsh`` (the key), ``concepts`` (a list, or lists by statement) and what else is known
    of the filing, which becomes attributes: ``company``, ``cik``, ``form``, ``date`` (of filing), ``period``,
    ``fiscal-year``, ``fiscal-period``, ``sic``, ``quarter``, ``taxonomy``.

    Args:
        source: path, bytes or binary file, perhaps compressed.
        ontology: the taxonomy, such as US-GAAP.
        strict: refuse the file at its first warning instead of reporting it.
        name: name for reports, where ``source`` has none.

    Raises:
        ParseError: the file is damaged or holds no filing, or ``strict`` met a fault.
        DataMissing: there is no such file.

    >>> from sma_gpu.ontologies.builder import ontology_from_parents
    >>> taxonomy = ontology_from_parents({"us-gaap:Assets": [], "us-gaap:Cash": ["us-gaap:Assets"]})
    >>> line = b'{"adsh": "1-26-1", "name": "Toy", "form": "10-K", "concepts": {"BS": ["us-gaap:Cash"]}}'
    >>> read_filings(line, taxonomy).record("1-26-1").positive
    ('us-gaap:Cash',)
    """
    opened = read_source(source, name=name)
    report = LoadReport(opened.path)
    rows = RowCollector("filing")
    last = ""
    with only_member(opened) as file:
        stream = HashedStream(file)
        for start, lines in line_blocks(stream, report):
            for number, line in enumerate(lines, start + 1):
                if line.strip():
                    last = max(last, _filing(line, number, rows, report))
    if not rows:
        raise ParseError(
            f"read {opened.path} as filings",
            "no line of it is a filing",
            "Give JSON lines, each an object with adsh and concepts.",
            path=opened.path,
        )
    records = rows.records(ontology, report, name="sec", version=last, sha256=stream.sha256)
    if strict:
        report.require_clean()
    return records


def _filing(line: str, number: int, rows: RowCollector, report: LoadReport) -> str:
    """Adds the filing on one line. Returns the day on which it was filed, or an empty string."""
    try:
        found = parse_json(line, f"line {number}")
    except QueryError as fault:
        report.error("bad-line", f"line {number} is no JSON ({fault.found}); left out", [number])
        return ""
    key = found.get("adsh") if isinstance(found, dict) else None
    if not isinstance(key, str) or not key.strip():
        report.error("no-key", f"line {number} is no filing with an adsh; left out", [number])
        return ""
    key = key.strip()
    if key in rows:
        report.warn("second-record", f"{key} stands a second time; its lines count as one filing", [number], [key])
    attributes = {}
    for attribute, column in _ATTRIBUTES.items():
        text = _scalar(found.get(column))
        attributes[attribute] = iso_date(text) if column in _DATES else text
    rows.open(key, _scalar(found.get("name")), attributes)
    odd = 0
    for statement, concept in _concepts(found.get("concepts")):
        if isinstance(concept, str) and concept.strip():
            rows.add(key, concept.strip(), number, evidence=statement)
        else:
            odd += 1
    if odd:
        report.warn("odd-concept", f"{odd} concepts of {key} are no text; left out", [number], [key])
    return attributes["date"]


def _concepts(found: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(found, Mapping):
        for statement, concepts in found.items():
            for concept in concepts if isinstance(concepts, list) else [concepts]:
                yield str(statement), concept
    elif isinstance(found, list):
        for concept in found:
            yield "", concept


def read_company_facts(
    source: SourceLike, ontology: Ontology, *, strict: bool = False, name: str | None = None
) -> Records:
    """Returns the filings in facts as the SEC's interface gives them, as records of the concepts that they use.

    The key of a record is the accession number of the filing. Its attributes are ``company``, ``cik``, ``form``,
    ``date`` (of filing), ``fiscal-year`` and ``fiscal-period``, as far as the document states them.

    Args:
        source: path, bytes or binary file, perhaps compressed; an archive may hold many documents.
        ontology: the taxonomy, such as US-GAAP.
        strict: refuse the file at its first warning instead of reporting it.
        name: name for reports, where ``source`` has none.

    Raises:
        ParseError: a file is no such document, or ``strict`` met a fault.
        DataMissing: there is no such file.
    """
    opened = read_source(source, name=name)
    report = LoadReport(opened.path)
    rows = RowCollector("filing")
    passed: dict[str, int] = {}
    sums: list[str] = []
    last = ""
    with reading(opened):
        for member in members(opened):
            content = member.stream.read()
            sums.append(hashlib.sha256(content).hexdigest())
            path = f"{opened.path}/{member.name}" if member.name else opened.path
            last = max(last, _take_facts(_facts(content, path, report), ontology, rows, passed))
    if passed:
        shown = ", ".join(f"{what} {count}" for what, count in sorted(passed.items()))
        report.note("passed-over", f"facts that no concept of {ontology.label} stands for: {shown}")
    sha256 = sums[0] if len(sums) == 1 else hashlib.sha256("\n".join(sorted(sums)).encode("ascii")).hexdigest()
    records = rows.records(ontology, report, name="companyfacts", version=last, sha256=sha256)
    if strict:
        report.require_clean()
    return records


def _take_facts(
    facts: Iterator[tuple[str, dict[str, Any]]], ontology: Ontology, rows: RowCollector, passed: dict[str, int]
) -> str:
    """Adds the facts of one document. Returns the last day on which one was filed, or an empty string."""
    last = ""
    for concept, fact in facts:
        key = _scalar(fact.get("accn"))
        if not key:
            passed["facts without an accession number"] = passed.get("facts without an accession number", 0) + 1
            continue
        filed, company = iso_date(_scalar(fact.get("filed"))), _scalar(fact.get("entityName"))
        attributes = {"company": company, "cik": _scalar(fact.get("cik")), "form": _scalar(fact.get("form"))}
        attributes |= {"date": filed, "fiscal-year": _scalar(fact.get("fy")), "fiscal-period": _scalar(fact.get("fp"))}
        last = max(last, filed)
        rows.open(key, company, attributes)
        prefix = concept.partition(":")[0]
        if prefix in ontology.prefixes:
            rows.add(key, concept, 0)
        else:
            passed[f"facts of {prefix}"] = passed.get(f"facts of {prefix}", 0) + 1
    return last


def _facts(content: bytes, path: str, report: LoadReport) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each fact of a document with the id of its concept, and with the company where that stands above it.

    Raises:
        ParseError: it is no such document.
    """
    document = _object(json_of(content, path, report, asked=f"read {path} as company facts"))
    above: dict[str, Any] = {name: document[name] for name in ("entityName", "cik") if name in document}
    concept = _scalar(document.get("tag"))
    frame = document.get("data")
    if concept and isinstance(frame, list):
        yield from ((f"{document.get('taxonomy')}:{concept}", fact) for fact in frame if isinstance(fact, dict))
        return
    facts = {_scalar(document.get("taxonomy")): {concept: document}} if concept else document.get("facts")
    if not isinstance(facts, dict):
        raise ParseError(
            f"read {path} as company facts",
            "it has no object of facts",
            "Give a document of companyfacts, companyconcept or frames, as the SEC's interface returns it.",
            path=path,
        )
    for prefix in sorted(facts):
        concepts = _object(facts[prefix])
        for tag in sorted(concepts):
            units = _object(_object(concepts[tag]).get("units"))
            for unit in sorted(units):
                for fact in units[unit] if isinstance(units[unit], list) else ():
                    if isinstance(fact, dict):
                        yield f"{prefix}:{tag}", {**fact, **above}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _scalar(value: Any) -> str:
    """Returns a text or a number as text, anything else as an empty one."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    return str(value).strip()
