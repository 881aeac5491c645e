"""Damaged and hostile input of every RDF, XBRL, filing and table reader: our own errors or a result, never a crash."""

from __future__ import annotations

import importlib.util
import io
import json
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sma_gpu.errors import ParseError, SmaError
from sma_gpu.ontologies.builder import ontology_from_parents
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.readers.obograph import read_obograph
from sma_gpu.ontologies.readers.owl_or_skos import read_rdf
from sma_gpu.ontologies.readers.xbrl import read_xbrl
from sma_gpu.ontologies.records.loading import load_records
from sma_gpu.ontologies.records.sec_filings import read_company_facts, read_filings
from sma_gpu.ontologies.records.sec_tables import read_sec
from sma_gpu.ontologies.records.tables import read_table_records
from sma_gpu.ontologies.records.xbrl_instance import read_instance

TAXONOMY = ontology_from_parents(
    {"us-gaap:Assets": [], "us-gaap:Cash": ["us-gaap:Assets"], "EX:1": [], "EX:2": ["EX:1"]}
)

OWL = b"""<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [ <!ENTITY obo "http://purl.obolibrary.org/obo/"> ]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:owl="http://www.w3.org/2002/07/owl#">
 <owl:Class rdf:about="&obo;EX_1"><rdfs:label xml:lang="en">one</rdfs:label></owl:Class>
 <owl:Class rdf:about="&obo;EX_2"><rdfs:subClassOf rdf:resource="&obo;EX_1"/><rdfs:subClassOf><owl:Restriction>
  <owl:onProperty rdf:resource="&obo;BFO_0000050"/><owl:someValuesFrom rdf:resource="&obo;EX_1"/>
 </owl:Restriction></rdfs:subClassOf><owl:deprecated>false</owl:deprecated></owl:Class>
</rdf:RDF>"""
TURTLE = b"""@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix ex: <http://example.org/v/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
ex:a a owl:Class ; rdfs:label "a"@en , "b"@de .
ex:b a owl:Class ; rdfs:subClassOf ex:a , [ a owl:Restriction ; owl:onProperty ex:p ; owl:someValuesFrom ex:a ] ;
  owl:equivalentClass [ owl:intersectionOf ( ex:a [ owl:onProperty ex:p ; owl:someValuesFrom ex:c ] ) ] .
"""
SKOS = b"""@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix ex: <http://example.org/v/> .
ex:s a skos:ConceptScheme ; skos:hasTopConcept ex:a .
ex:a a skos:Concept ; skos:prefLabel "a"@en ; skos:narrower ex:b . ex:b a skos:Concept ; skos:notation "B" .
"""
GRAPHS = json.dumps(
    {
        "graphs": [
            {
                "id": "http://purl.obolibrary.org/obo/ex.owl",
                "nodes": [
                    {"id": "EX:1", "lbl": "one", "type": "CLASS", "meta": {"definition": {"val": "d", "xrefs": ["x"]}}},
                    {"id": "EX:2", "lbl": "two", "type": "CLASS", "meta": {"deprecated": False, "synonyms": []}},
                    {"id": "p", "lbl": "part of", "type": "PROPERTY"},
                ],
                "edges": [{"sub": "EX:2", "pred": "is_a", "obj": "EX:1"}, {"sub": "EX:2", "pred": "p", "obj": "EX:1"}],
                "logicalDefinitionAxioms": [{"definedClassId": "EX:2", "genusIds": ["EX:1"]}],
            }
        ]
    }
).encode()
SCHEMA = b"""<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:l="http://www.xbrl.org/2003/linkbase"
 xmlns:x="http://www.w3.org/1999/xlink" targetNamespace="http://toy.example/2026"><xs:annotation><xs:appinfo><l:linkbase>
 <l:presentationLink x:type="extended" x:role="r"><l:loc x:type="locator" x:href="#t_A" x:label="A"/>
 <l:loc x:type="locator" x:href="#t_B" x:label="B"/><l:presentationArc x:type="arc" x:arcrole="/parent-child" x:from="A"
 x:to="B" order="1" priority="2"/></l:presentationLink></l:linkbase></xs:appinfo></xs:annotation>
 <xs:element id="t_A" name="A" abstract="true"/><xs:element id="t_B" name="B"/></xs:schema>"""
INSTANCE = b"""<xbrl xmlns="http://www.xbrl.org/2003/instance" xmlns:u="http://fasb.org/us-gaap/2025"
 xmlns:d="http://xbrl.sec.gov/dei/2025"><context id="c"><entity/></context><u:Cash contextRef="c">1</u:Cash>
 <d:EntityRegistrantName contextRef="c">Toy</d:EntityRegistrantName></xbrl>"""
PAGE = b"""<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"
 xmlns:i="http://www.xbrl.org/2003/instance" xmlns:u="http://fasb.org/us-gaap/2025"
 xmlns:d="http://xbrl.sec.gov/dei/2025"><body><ix:header><ix:resources><i:context id="c"><i:entity/></i:context>
 </ix:resources></ix:header><ix:nonNumeric name="d:DocumentPeriodEndDate" contextRef="c" continuedAt="e">May 1,
 <ix:exclude>3</ix:exclude></ix:nonNumeric><ix:continuation id="e">2026</ix:continuation>
 <ix:nonFraction name="u:Cash" contextRef="c" target="t">1</ix:nonFraction></body></html>"""
FACTS = b"""{"cik": 1, "entityName": "Toy", "facts": {"us-gaap": {"Cash": {"units": {"USD": [
 {"accn": "1-26-1", "fy": 2026, "fp": "FY", "form": "10-K", "filed": "2026-02-01", "val": 1}]}}}}}"""
FILINGS = b'{"adsh": "1", "name": "Toy", "filed": 20260201, "concepts": {"BS": ["us-gaap:Cash"]}}\n' * 2
NUM = b'adsh\ttag\tversion\tddate\tvalue\tfootnote\n1\tCash\tus-gaap/2025\t20251231\t5\t"\n1\tX\t1\t20251231\t5\t\n'
TABLE = b"id\tterms\tfrequency\tqualifier\tdate\na\tEX:2;EX:1\t3/7\t\t2026\nb\tEX:1\t20%\tNOT\t2025\n"
CSV = b'id,terms,note\na,EX:2,"x, y"\nb,"EX:1 EX:2",\n'

needs_rdflib = pytest.mark.skipif(importlib.util.find_spec("rdflib") is None, reason="rdflib is not installed")

Reader = Callable[[bytes], Any]
READERS: list[Any] = [
    pytest.param(read_rdf, OWL, id="rdf-xml", marks=needs_rdflib),
    pytest.param(read_rdf, TURTLE, id="turtle", marks=needs_rdflib),
    pytest.param(read_rdf, SKOS, id="skos", marks=needs_rdflib),
    pytest.param(read_obograph, GRAPHS, id="obograph"),
    pytest.param(read_xbrl, SCHEMA, id="xbrl"),
    pytest.param(lambda data: read_instance(data, TAXONOMY), INSTANCE, id="instance"),
    pytest.param(lambda data: read_instance(data, TAXONOMY), PAGE, id="inline"),
    pytest.param(lambda data: read_company_facts(data, TAXONOMY), FACTS, id="facts"),
    pytest.param(lambda data: read_filings(data, TAXONOMY), FILINGS, id="filings"),
    pytest.param(lambda data: read_sec(data, TAXONOMY), NUM, id="sec-tables"),
    pytest.param(lambda data: read_table_records(data, TAXONOMY), TABLE, id="tsv"),
    pytest.param(lambda data: read_table_records(data, TAXONOMY), CSV, id="csv"),
]

_PIECES = st.sampled_from(
    [b"<", b">", b"&", b'"', b"\\", b"\0", b"\xff", b"\t", b"\n", b"[", b"]", b"{", b"}", b"1e999", b"null",
     b"\xef\xbb\xbf", b"]]>", b"<!--", b"&#0;", b"-1", b"nan", b"\xed\xa0\x80", b"#", b"@", b".", b"()"]
)  # fmt: skip


@st.composite
def damage(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Some cuts, insertions and repetitions, at relative places."""
    steps = draw(st.lists(st.tuples(st.sampled_from("cird"), st.floats(0, 1), st.floats(0, 0.3), _PIECES), max_size=4))

    def apply(data: bytes) -> bytes:
        for kind, at, length, piece in steps:
            start = int(at * len(data))
            end = min(len(data), start + int(length * len(data)))
            if kind == "c":
                data = data[:start]
            elif kind == "i":
                data = data[:start] + piece + data[start:]
            elif kind == "r":
                data = data[:end] + data[start:end] + data[end:]
            else:
                data = data[:start] + data[end:]
        return data

    return apply


def survives(read: Reader, data: bytes) -> None:
    with suppress(SmaError):
        read(data)


@pytest.mark.parametrize(("read", "sound"), READERS)
def test_sound_input_is_read(read: Reader, sound: bytes) -> None:
    assert len(read(sound)) >= 1


@pytest.mark.parametrize(("read", "sound"), READERS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(how=damage())
def test_damaged_input(read: Reader, sound: bytes, how: Callable[[bytes], bytes]) -> None:
    survives(read, how(sound))


@pytest.mark.parametrize(("read", "sound"), READERS)
@settings(max_examples=30, deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes(read: Reader, sound: bytes, data: bytes) -> None:
    survives(read, data)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "type", "meta", "val", "lbl", "sub", "pred", "obj", "adsh", "x"]), inner
        )
    ),
    max_leaves=8,
)


@settings(max_examples=80, deadline=None)
@given(nodes=_JSON, edges=_JSON, axioms=_JSON)
def test_graphs_of_any_shape(nodes: Any, edges: Any, axioms: Any) -> None:
    graph = {"nodes": nodes, "edges": edges, "logicalDefinitionAxioms": axioms}
    survives(read_obograph, json.dumps({"graphs": [graph]}).encode())


@settings(max_examples=80, deadline=None)
@given(value=_JSON, concepts=_JSON)
def test_filings_of_any_shape(value: Any, concepts: Any) -> None:
    line = json.dumps({"adsh": "1", "name": value, "filed": value, "concepts": concepts})
    survives(lambda data: read_filings(data, TAXONOMY), line.encode())
    facts = json.dumps({"entityName": value, "facts": {"us-gaap": {"Cash": concepts, "Assets": {"units": value}}}})
    survives(lambda data: read_company_facts(data, TAXONOMY), facts.encode())


@pytest.mark.parametrize("deep", [b'{"graphs":' + b"[" * 100_000, b'{"graphs": [{"nodes": ' + b'{"a":' * 100_000])
def test_deep_nesting_is_refused(deep: bytes) -> None:
    with pytest.raises(ParseError):
        read_obograph(deep)


@needs_rdflib
def test_deep_turtle_is_refused_or_read() -> None:
    survives(read_rdf, b"@prefix e: <http://e.org/> . e:a e:b " + b"[ e:b " * 5000)
    survives(read_rdf, b"@prefix e: <http://e.org/> . e:a e:b " + b"( " * 5000)


def bomb(levels: int) -> bytes:
    entities = "".join(
        f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, levels)
    )  # fmt: skip
    return (
        f'<?xml version="1.0"?><!DOCTYPE rdf:RDF [<!ENTITY e0 "lol">{entities}]>'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        f'<rdf:Description rdf:about="&e{levels - 1};"/></rdf:RDF>'
    ).encode()


@pytest.mark.parametrize("read", [read_rdf, read_xbrl, lambda data: read_instance(data, TAXONOMY), load_ontology])
def test_entities_do_not_blow_up(read: Reader) -> None:
    data = bomb(12)
    if read is read_xbrl:
        data = data.replace(b"rdf:RDF", b"schema").replace(b"www.w3.org/1999", b"www.xbrl.org/2003/x")
    elif read not in (read_rdf, load_ontology):
        data = data.replace(b"rdf:RDF", b"xbrl").replace(b"www.w3.org/1999/02/22", b"www.xbrl.org/2003/instance")
    tracemalloc.start()
    with pytest.raises(ParseError):
        read(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20


@needs_rdflib
def test_many_short_references_do_not_blow_up_either() -> None:
    head = f'<?xml version="1.0"?><!DOCTYPE rdf:RDF [<!ENTITY e "{"x" * 4000}">]><rdf:RDF '.encode()
    head += b'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.org/">'
    body = b"<rdf:Description>" + b"<e:p>" + b"&e;" * 20_000 + b"</e:p></rdf:Description></rdf:RDF>"
    with pytest.raises(ParseError, match=r"many times its size|amplification"):
        read_rdf(head + body)


@needs_rdflib
@pytest.mark.parametrize(
    "declaration",
    ['<!ENTITY e SYSTEM "file:///etc/passwd">', '<!ENTITY e PUBLIC "x" "http://127.0.0.1:9/">', '<!ENTITY % e "x">'],
)
def test_nothing_outside_the_file_is_reached(declaration: str) -> None:
    data = f"<!DOCTYPE rdf:RDF [{declaration}]>".encode() + OWL.split(b"]>", 1)[1].replace(b"&obo;", b"http://o/")
    with pytest.raises(ParseError, match=r"outside the file|parameter entity"):
        read_rdf(data)


@needs_rdflib
def test_literals_are_not_written_anew() -> None:
    data = TURTLE + b'ex:a owl:deprecated "1E9999999999"^^<http://www.w3.org/2001/XMLSchema#decimal> .'
    tracemalloc.start()
    assert len(read_rdf(data)) == 2
    assert tracemalloc.get_traced_memory()[1] < 32 << 20
    tracemalloc.stop()


@needs_rdflib
def test_a_document_type_is_not_fetched(tmp_path: Path) -> None:
    (tmp_path / "x.dtd").write_text("this is no declaration", encoding="utf-8")
    head = f'<!DOCTYPE rdf:RDF SYSTEM "{(tmp_path / "x.dtd").as_uri()}" ['.encode()
    assert len(read_rdf(OWL.replace(b"<!DOCTYPE rdf:RDF [", head))) == 2


def test_archives_of_anything() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in (("a/toy.xsd", SCHEMA), ("../../b.txt", b"text"), ("c.bin", b"\0" * 100)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    assert read_xbrl(packed.getvalue()).live_count == 2
    assert load_ontology(packed.getvalue()).live_count == 2
    for cut in (600, 1500, len(packed.getvalue()) - 700):
        survives(read_xbrl, packed.getvalue()[:cut])
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as zip_file:
        zip_file.writestr("num.txt", NUM)
        zip_file.writestr("readme.htm", b"<html>")
    assert load_records(zipped.getvalue(), TAXONOMY, cache=False).record("1").positive == ("us-gaap:Cash",)
    survives(lambda data: load_records(data, TAXONOMY, cache=False), zipped.getvalue()[:-30])
