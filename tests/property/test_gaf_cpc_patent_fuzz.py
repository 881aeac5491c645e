"""Hostile bytes for readers of GAF, GPAD, CPC and patents: an answer or one of our errors, soon, in bounded memory.

Seeds are small files in each form; hypothesis cuts, repeats and swaps parts of them and puts in what hurts readers.
"""

from __future__ import annotations

import gzip
import json
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sma_gpu.errors import SmaError
from sma_gpu.ontologies.builder import ontology_from_parents
from sma_gpu.ontologies.readers.cpc import read_cpc
from sma_gpu.ontologies.readers.cpc_symbol import read_symbols
from sma_gpu.ontologies.records import read_gaf, read_gpad, read_patents
from sma_gpu.ontologies.records.gaf_text import read_gaf_qualifier

GO = ontology_from_parents({"GO:1": [], "GO:2": ["GO:1"], "GO:3": ["GO:1"]})
CPC = ontology_from_parents({"A01B": [], "A01B1/00": ["A01B"], "A01B1/02": ["A01B1/00"]})

GAF = (
    "!gaf-version: 2.2\n!date-generated: 2026-01-01\n"
    + "DB\tP1\tS\tNOT|enables\tGO:2\tPMID:1\tIDA\tX:1\tF\tName\tA|B\tprotein\ttaxon:9606\t20260101\tTOY\t\t\n" * 2
    + "DB\tP2\tS\t\tGO:3\tPMID:1\tIEA\t\tP\tName\t\tprotein\ttaxon:1|taxon:2\t20260101\tTOY\t\t\n"
).encode()
GPAD = (
    b"!gpad-version: 2.0\n!date-generated: 2026-01-01\n"
    + b"DB:P1\tNOT\tRO:0002327\tGO:2\tPMID:1\tECO:0000314\tX:1\tNCBITaxon:1\t2026-01-01\tTOY\tBFO:0000050(GO:1)\t"
    + b"id=1\n"
    + b"DB:DB:2\t\tRO:0002331\tGO:3\tPMID:1\tECO:0000501\t\t\t2026-01-01T01:02:03Z\tTOY\t\t\n"
)
OLD_GPAD = (
    b"!gpa-version: 1.2\n"
    + b"DB\tP1\tNOT|enables\tGO:2\tPMID:1\tECO:0000314\t\t\t20260101\tTOY\t\tgo_evidence=IDA\n" * 2
)
GPI = (
    b"!gpi-version: 2.0\n!date-generated: 2026-01-01\n"
    b"DB:P1\tS\tName\tA|B\tPR:000000001\tNCBITaxon:9606\tDB:G1\t\t\tX:1|X:2\t\n"
    b"DB:DB:2\tT\tName\t\tPR:000000001\tNCBITaxon:9606\t\t\t\t\t\n"
)
GENES = b'{"id": "N:1", "symbol": "S", "P": [["GO:2", "IDA"]], "F": ["GO:3"], "C": []}\n' * 2
TITLES = b"A\t\tX\nA01\t\tX\nA01B\t\t{X} (see A01C)\nA01B1/00\t0\tX\nA01B1/02\t1\tX\nA01B2001/02\t2\tX\n"
SCHEME = (
    b'<?xml version="1.0"?><!DOCTYPE class-scheme SYSTEM "x.dtd"><class-scheme publication-date="2020-01-01">'
    b'<classification-item level="5" not-allocatable="true"><classification-symbol>A01B</classification-symbol>'
    b"<class-title><title-part><text>X</text></title-part></class-title>"
    b'<classification-item level="7"><classification-symbol>A01B1/00</classification-symbol></classification-item>'
    b"</classification-item></class-scheme>"
)
GRANT = (
    b'<?xml version="1.0"?><!DOCTYPE us-patent-grant SYSTEM "x.dtd" [ ]><us-patent-grant><us-bibliographic-data-grant>'
    b"<publication-reference><document-id><country>US</country><doc-number>1</doc-number></document-id>"
    b"</publication-reference><classifications-cpc><main-cpc><classification-cpc><section>A</section><class>01</class>"
    b"<subclass>B</subclass><main-group>1</main-group><subgroup>00</subgroup></classification-cpc></main-cpc>"
    b"</classifications-cpc></us-bibliographic-data-grant></us-patent-grant>"
)
JSON = b'{"id": "US1", "cpc": ["A01B 1/00", {"symbol": "A01B1/02", "value": "I"}]}\n' * 2
TABLE = b"patent_id\tcpc_sequence\tcpc_group\tcpc_type\n1\t0\tA01B1/00\tinventional\n2\t0\tA01B1/02\tadditional\n"

HURTFUL = (
    b"", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n", b"\t", b"\t" * 40, b'"', b"'", b"|", b"NOT", b"!", b"#",
    b"\xc3", b"\xf0\x9f\x98\x80", b"<![CDATA[", b"]]>", b"<!--", b"-->", b"&amp;", b"&x;", b"&#0;", b"&#x110000;",
    b'<!ENTITY a "b">', b"<!DOCTYPE", b'<?xml version="1.0"?>', b'<?xml version="1.0" encoding="utf-7"?>', b"<a>" * 50,
    b"</classification-item>", b"<classification-item>", b"{", b"}", b"[", b"NaN", b"1e999", b"\\ud800", b"9" * 5000,
    b"A01B", b"A01B99999/00", b"A01B1/00", b"\x1f\x8b", b"PK\x03\x04", "١".encode(), "²".encode(),
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, seeds: tuple[bytes, ...]) -> bytes:
    """One of the seeds with parts cut out, doubled, moved, and hurtful bytes put in."""
    content = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 6))):
        at, end = sorted(draw(st.integers(0, len(content))) for _ in range(2))
        kind = draw(st.sampled_from(("cut", "double", "put", "turn")))
        if kind == "cut":
            content = content[:at] + content[end:]
        elif kind == "double":
            content = content[:end] + content[at:]
        elif kind == "put":
            content = content[:at] + draw(st.sampled_from(HURTFUL)) + content[at:]
        else:
            content = content[:at] + content[at:end][::-1] + content[end:]
    return gzip.compress(content, 1) if draw(st.integers(0, 9)) == 0 else content


def _gaf(content: bytes) -> object:
    return read_gaf(content, GO)


def _gpad(content: bytes) -> object:
    return read_gpad(content, GO, products=GPI)


def _gpi(content: bytes) -> object:
    return read_gpad(GPAD, GO, products=content)


def _cpc(content: bytes) -> object:
    return read_cpc(content)


def _patents(content: bytes) -> object:
    return read_patents(content, CPC)


READERS: tuple[tuple[Callable[[bytes], object], tuple[bytes, ...]], ...] = (
    (_gaf, (GAF, GENES)),
    (_gpad, (GPAD, OLD_GPAD)),
    (_gpi, (GPI,)),
    (_cpc, (TITLES, SCHEME)),
    (_patents, (GRANT, GRANT * 3, JSON, TABLE)),
)


def outcome(read: Callable[[bytes], Any], content: bytes) -> Any:
    """What a reader tells, or its error."""
    try:
        return read(content).report.entries
    except SmaError as fault:
        return fault.as_dict()


@pytest.mark.parametrize(("read", "seeds"), READERS, ids=["gaf", "gpad", "gpi", "cpc", "patents"])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_an_answer_or_one_of_our_errors(
    read: Callable[[bytes], object], seeds: tuple[bytes, ...], data: st.DataObject
) -> None:
    content = data.draw(mutated(seeds))
    first, second = outcome(read, content), outcome(read, content)
    assert first == second
    # What is no stream of packed bytes cannot be a damaged one: that would be a fault of ours in disguise.
    assert content[:2] in (b"\x1f\x8b", b"PK") or "damaged" not in str(first)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300))
def test_bytes_of_any_kind(content: bytes) -> None:
    for read, _ in READERS:
        outcome(read, content)


@given(st.text("NOTnot|;, enables_-!~\u00a0", max_size=20))
def test_a_written_not_is_never_read_as_a_yes(text: str) -> None:
    words = text.replace("|", " ").replace(";", " ").replace(",", " ").split()
    if "NOT" in words:
        assert read_gaf_qualifier(text).sense == 1


@given(st.text("A01BLYaz0159/ ()[].,;-IF", max_size=40))
def test_symbols_are_found_in_linear_time_and_spelled_as_the_scheme_does(text: str) -> None:
    for symbol in read_symbols(text).symbols:
        assert read_symbols(symbol).symbols == (symbol,)


LONG = 200_000


@pytest.mark.parametrize(
    ("read", "content"),
    [
        (_gaf, GAF + b"DB\t" * LONG),
        (_gaf, GAF.replace(b"NOT|enables", b"NOT|" * LONG)),
        (_gpad, GPAD + b"DB:\t" * LONG),
        (_gpad, GPAD.replace(b"id=1", b"go_evidence=" * (LONG // 12))),
        (_gpad, OLD_GPAD.replace(b"NOT|enables", b"NOT|" * LONG)),
        (_gpi, GPI.replace(b"A|B", b"|" * LONG)),
        (_gaf, GAF.replace(b"A|B", b"|" * LONG)),
        (_gaf, GENES.replace(b"[]", b"[" * LONG)),
        (_cpc, TITLES + b"A01B1/04\t2\t" + b"(" * LONG + b"\n"),
        (_cpc, TITLES + b"A01B1/04\t2\t" + b"(A01B " * LONG + b"\n"),
        (_cpc, TITLES + b"A01B1/04\t2\t" + b" " * LONG + b"x\n"),
        (_cpc, TITLES + b"A01B1/04" + b" " * LONG + b"\t2\tx\n"),
        (_cpc, SCHEME.replace(b"A01B1/00", b"A01B 1/00 " * (LONG // 10))),
        (_cpc, SCHEME.replace(b"A01B1/00", b"A01B" + b" " * LONG)),
        (_cpc, SCHEME.replace(b"A01B1/00", b"A01B" + b"0" * LONG)),
        (_cpc, b"<class-scheme>" + b"<classification-item>" * LONG),
        (_patents, GRANT.replace(b"<class>01", b"<class>" + b"0" * LONG)),
        (_patents, b'<?xml version="1.0"?><us-patent-grant>' * (LONG // 40)),
        (_patents, JSON.replace(b"A01B 1/00", b"A01B 1/0 " * (LONG // 9))),
        (_patents, JSON.replace(b"A01B 1/00", b"(" * LONG)),
        (_patents, JSON + b"[" * LONG),
        (_patents, TABLE + b'"' * LONG + b"\n"),
    ],
)
def test_long_lines_cost_time_and_memory_in_proportion(read: Callable[[bytes], object], content: bytes) -> None:
    tracemalloc.start()
    before = time.process_time()
    outcome(read, content)
    spent, (_, peak) = time.process_time() - before, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert spent < 20  # a quadratic step would take minutes, tracing included
    assert peak < 200 * len(content) + (1 << 24)


def test_records_in_json_and_table_are_the_same() -> None:
    rows = [json.loads(line) for line in JSON.splitlines()][:1]
    table = "patent_id\tcpc_group\n" + "".join(
        f"{row['id']}\t{symbol if isinstance(symbol, str) else symbol['symbol']}\n"
        for row in rows
        for symbol in row["cpc"]
    )
    first = read_patents(json.dumps(rows[0]).encode(), CPC)
    assert read_patents(table.encode(), CPC).record("US1").positive == first.record("US1").positive
