"""OWL, SKOS and OBO Graphs: what single axioms mean, what is refused, and what is told."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from typing import Any

import pytest

from sma_gpu.errors import CycleFound, DataMissing, ParseError
from sma_gpu.ontologies.compiled import ontology_from_arrays, ontology_to_arrays
from sma_gpu.ontologies.iris import IriTable
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.obograph import read_obograph
from sma_gpu.ontologies.readers.owl_genus import genus_edges
from sma_gpu.ontologies.readers.owl_or_skos import read_rdf

HEAD = """@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix ex: <http://example.org/v/> . @prefix oio: <http://www.geneontology.org/formats/oboInOwl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix xl: <http://www.w3.org/2008/05/skos-xl#> .
@prefix iso: <http://purl.org/iso25964/skos-thes#> . @prefix obo: <http://purl.obolibrary.org/obo/> .
"""
OBO = "http://purl.obolibrary.org/obo/"


@pytest.fixture(autouse=True)
def _needs_rdflib() -> None:
    pytest.importorskip("rdflib")


def turtle(body: str, **options: Any) -> Ontology:
    return read_rdf((HEAD + body).encode(), **options)


def kinds(ontology: Ontology) -> set[str]:
    return {entry.kind for entry in ontology.report}


def test_a_circle_refuses_the_file_and_names_its_path() -> None:
    body = "ex:a a owl:Class ; rdfs:subClassOf ex:b . ex:b a owl:Class ; rdfs:subClassOf ex:c . "
    with pytest.raises(CycleFound) as caught:
        turtle(body + "ex:c a owl:Class ; rdfs:subClassOf ex:a .")
    assert caught.value.cycle == ("ex:a", "ex:b", "ex:c", "ex:a")
    with pytest.raises(CycleFound) as caught:
        turtle("ex:a a skos:Concept ; skos:broader ex:b . ex:b a skos:Concept ; skos:broader ex:a .")
    assert caught.value.cycle == ("ex:a", "ex:b", "ex:a")


def test_a_loop_is_cut_with_a_warning() -> None:
    found = turtle("ex:a a owl:Class ; rdfs:subClassOf ex:a .")
    assert (len(found.parents), [e.kind for e in found.report.warnings]) == (0, ["self-loop"])
    found = turtle("ex:a a skos:Concept ; skos:narrower ex:a .")
    assert (len(found.parents), [e.kind for e in found.report.warnings]) == (0, ["self-loop"])


def test_a_genus_is_a_parent_where_nothing_else_leads_there() -> None:
    found = turtle(
        "ex:top a owl:Class . ex:mid a owl:Class ; rdfs:subClassOf ex:top . ex:p a owl:ObjectProperty . "
        "ex:far a owl:Class ; rdfs:subClassOf ex:mid ; owl:equivalentClass [ owl:intersectionOf ( ex:top "
        "  [ a owl:Restriction ; owl:onProperty ex:p ; owl:someValuesFrom ex:mid ] ) ] . "
        "ex:alone a owl:Class ; owl:equivalentClass [ owl:intersectionOf ( ex:mid ex:top ) ] . "
        "ex:same a owl:Class ; owl:equivalentClass ex:top . "
        "ex:either a owl:Class ; owl:equivalentClass [ owl:unionOf ( ex:mid ex:far ) ] ."
    )
    assert found.term("ex:far").parents == ("ex:mid",)  # the genus ex:top is above ex:mid
    assert found.term("ex:alone").parents == ("ex:mid",)
    assert found.term("ex:same").parents == found.term("ex:either").parents == ()
    assert len(found.relations) == 0  # what defines a class is no statement about its values
    (note,) = [e.message for e in found.report if e.kind == "unread-axiom"]
    assert "another class 1" in note
    assert "unionOf 1" in note


def test_genera_close_no_circle() -> None:
    assert genus_edges({"b": {"a"}}, {"a": {"b"}}) == []
    assert genus_edges({}, {"a": {"b"}, "b": {"a"}}) == [("a", "b")]
    assert genus_edges({}, {"a": {"a"}}) == []


def test_forms_of_restrictions() -> None:
    found = turtle(
        "ex:a a owl:Class . ex:p a owl:ObjectProperty ; rdfs:label 'part of' . ex:b a owl:Class ; rdfs:subClassOf "
        "[ owl:intersectionOf ( ex:a [ owl:onProperty ex:p ; owl:someValuesFrom ex:a ] ) ] , "
        "[ owl:onProperty ex:q ; owl:onClass ex:a ; owl:minQualifiedCardinality 1 ] , "
        "[ owl:onProperty ex:r ; owl:onClass ex:a ; owl:minQualifiedCardinality 0 ] , "
        "[ owl:onProperty ex:r ; owl:onClass ex:a ; owl:maxQualifiedCardinality 1 ] , "
        "[ owl:onProperty ex:r ; owl:allValuesFrom ex:a ] , owl:Thing ."
    )
    assert found.term("ex:b").parents == ("ex:a",)
    assert found.term("ex:b").relations == (("ex:p", "ex:a"), ("ex:q", "ex:a"))
    assert dict(zip(found.relation_ids, found.relation_names, strict=True)) == {"ex:p": "part of", "ex:q": ""}
    assert {e.message for e in found.report if e.kind == "undeclared-relation"} == {
        "relation ex:q is used but not declared"
    }


def test_unnamed_nodes_come_out_in_one_order() -> None:
    old = "".join(f"ex:o{i} a owl:Class ; owl:deprecated true . " for i in range(9))
    ends = " , ".join(f"[ owl:onProperty ex:p ; owl:someValuesFrom ex:o{i} ]" for i in range(9))
    body = f"{old} ex:a a owl:Class ; rdfs:subClassOf {ends} ."
    told = [[str(entry) for entry in turtle(body).report] for _ in range(8)]  # the names of the nodes are drawn by lot
    assert all(entries == told[0] for entries in told)
    assert len(told[0]) == 11  # nine edges that were cut, a nameless class, an undeclared relation


def test_retired_by_a_parent_and_merged_ids() -> None:
    found = turtle(
        "obo:EX_1 a owl:Class ; rdfs:label 'one' ; oio:hasAlternativeId 'EX:3' . "
        "obo:EX_2 a owl:Class ; rdfs:label 'old' ; rdfs:subClassOf oio:ObsoleteClass . "
        "obo:EX_3 a owl:Class ; owl:deprecated true ; obo:IAO_0000231 obo:IAO_0000227 ; obo:IAO_0100001 obo:EX_1 . "
        "obo:EX_4 a owl:Class ; owl:deprecated true , false ; rdfs:label 'both' ."
    )
    assert (found.ids, found.retired_count) == (("EX:1",), 2)
    assert found.resolve("EX:3").used == "EX:1"
    assert (found.retired["EX:3"].is_alternative, found.retired["EX:3"].has_stanza) == (True, False)
    assert found.retired["EX:2"].name == "old"
    assert [e.ids for e in found.report.warnings if e.kind == "half-retired"] == [("EX:4",)]


@pytest.mark.parametrize("written", ["'EX:1'", "' EX:1 '", "'EX_1'", f"'{OBO}EX_1'", f"'<{OBO}EX_1>'", f"<{OBO}EX_1>"])
def test_replacements_however_written(written: str) -> None:
    old = f"obo:EX_2 a owl:Class ; owl:deprecated true ; obo:IAO_0100001 {written} ."
    assert turtle(f"obo:EX_1 a owl:Class . {old}").resolve("EX:2").used == "EX:1"


def test_language_that_is_asked_for() -> None:
    body = "ex:a a owl:Class ; rdfs:label 'cell'@en , 'Zelle'@de , 'Zella'@de-CH ."
    found = turtle(body, language="de")
    assert found.term("ex:a").name == "Zelle"
    assert [(s.text, s.language) for s in found.term("ex:a").synonyms] == [("cell", "en"), ("Zella", "de-ch")]
    again = ontology_from_arrays(ontology_to_arrays(found), path="x")
    assert again.term("ex:a") == found.term("ex:a")


def test_files_that_belong_together() -> None:
    first = (HEAD + "<http://example.org/one> a owl:Ontology ; owl:imports <http://example.org/two> , <http://o/x> . "
             "ex:b a owl:Class ; rdfs:subClassOf ex:a .").encode()  # fmt: skip
    second = (HEAD + "<http://example.org/two> a owl:Ontology . ex:a a owl:Class ; rdfs:label 'a' .").encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("two.ttl", second)
        archive.writestr("LICENSE", b"some words")
        archive.writestr("one.ttl", first)
    apart, turned, whole = (
        read_rdf(first, more=[second]), read_rdf(second, more=[first]), load_ontology(packed.getvalue()),
    )  # fmt: skip
    assert apart.sha256 == turned.sha256 == whole.sha256
    for found in (apart, turned, whole):
        assert [found.term(t).parents for t in found.ids] == [(), ("ex:a",)]
        assert [e.ids for e in found.report if e.kind == "import"] == [("http://o/x",)]
    assert "other-file" in kinds(whole)
    alone = read_rdf(first)
    assert [e.ids for e in alone.report if e.kind == "import"] == [("http://example.org/two", "http://o/x")]
    assert [e.kind for e in alone.report.warnings] == ["undefined-term"]


@pytest.mark.parametrize("encode", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_marks_and_encodings(encode: str) -> None:
    text = HEAD + "ex:a a owl:Class ; rdfs:label 'Södergren β'@en ."
    data = text.encode(encode) if encode != "utf-16-le" else b"\xff\xfe" + text.encode(encode)
    assert read_rdf(data).term("ex:a").name == "Södergren β"


def test_bytes_that_are_no_utf_8_are_told() -> None:
    found = read_rdf(HEAD.encode() + b"\nex:a a owl:Class ; rdfs:label 'a\xff' .")
    assert [(e.kind, e.lines) for e in found.report.warnings] == [("encoding", (6,))]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b'<Ontology xmlns="http://www.w3.org/2002/07/owl#"/>', "OWL/XML"),
        (b"Prefix(:=<http://e.org/>)\nOntology(<http://e.org/>)", "functional"),
        (b"Prefix: : <http://e.org/>\nOntology: <http://e.org/>\nClass: A", "Manchester"),
    ],
)
def test_other_forms_of_owl_are_named(data: bytes, what: str) -> None:
    with pytest.raises(ParseError, match=what):
        load_ontology(data)


def test_faults_have_a_line() -> None:
    with pytest.raises(ParseError, match="line 6") as caught:
        read_rdf(HEAD.encode() + b"\nex:a a owl:Class ; rdfs:label .")
    assert caught.value.line == 6
    with pytest.raises(ParseError) as caught:
        read_rdf(b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\n<a>\n</rdf:RDF>')
    assert caught.value.line == 3


def test_without_rdflib_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(DataMissing, match=r"sma_gpu\[owl\]"):
        turtle("ex:a a owl:Class .")


def test_one_base_for_each_prefix() -> None:
    addresses = [f"{OBO}EFO_1", "http://www.ebi.ac.uk/efo/EFO_1", "http://www.ebi.ac.uk/efo/EFO_2", "http://o/EFO_3"]
    table = IriTable.of(addresses)
    assert [table.id_of(a) for a in addresses] == ["EFO:1", *addresses[1:]]
    assert [table.iri_of(table.id_of(a)) for a in addresses] == addresses
    named = IriTable.of(["http://e.org/v/Cat", "http://e.org/v/a/Dog"], [("e", "http://e.org/v/"), ("", "http://o/")])
    assert named.id_of("http://e.org/v/Cat") == "e:Cat"
    assert named.iri_of("e:Cat") == "http://e.org/v/Cat"
    assert named.iri_of("nothing here") == "nothing here"


def test_relative_addresses_do_not_name_the_machine() -> None:
    found = read_rdf(
        b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#">'
        b'<owl:Class rdf:about="#A"/></rdf:RDF>'
    )
    assert found.ids == ("http://relative.invalid/#A",)


def test_skos_beyond_the_core() -> None:
    found = turtle(
        "ex:s a skos:ConceptScheme . ex:whole a skos:Concept ; skos:topConceptOf ex:s ; "
        "  xl:prefLabel [ xl:literalForm 'whole'@en ] . "
        "ex:part a skos:Concept ; skos:inScheme ex:s ; iso:broaderPartitive ex:whole ; skos:altLabel 'piece'@en ; "
        "  skos:prefLabel 'part'@en ; skos:notation '1.1' ; skos:related ex:whole . "
        "ex:kind a skos:Concept ; iso:broaderGeneric ex:whole ; skos:prefLabel 'kind'@en . "
        "ex:whole skos:narrower ex:missing . ex:untyped skos:broader ex:kind ."
    )
    assert found.term("ex:untyped").parents == ("ex:kind",)
    assert found.term("ex:whole").name == "whole"
    assert found.term("ex:kind").parents == ("ex:whole",)
    assert found.term("ex:part").parents == ()
    assert found.term("ex:part").relations == (("isothes:broaderPartitive", "ex:whole"), ("skos:related", "ex:whole"))
    assert {s.text for s in found.term("ex:part").synonyms} == {"piece", "1.1"}
    assert [e.ids for e in found.report.warnings] == [("ex:missing", "ex:whole")]


def graphs(nodes: list[Any], edges: list[Any], **more: Any) -> Ontology:
    return read_obograph(
        json.dumps({"graphs": [{"id": f"{OBO}ex.owl", "nodes": nodes, "edges": edges, **more}]}).encode()
    )


def node(number: int, **meta: Any) -> dict[str, Any]:
    return {"id": f"{OBO}EX_{number}", "lbl": f"term {number}", "type": "CLASS", "meta": meta}


def test_obograph_parts() -> None:
    values = [{"pred": f"{OBO}IAO_0100001", "val": "EX:1"}]
    found = graphs(
        [node(1), node(2, deprecated=True, basicPropertyValues=values), node(3, deprecated="true"), node(4), None, {}],
        [
            {"sub": f"{OBO}EX_4", "pred": "is_a", "obj": f"{OBO}EX_1"},
            {"sub": f"{OBO}EX_4", "pred": f"{OBO}BFO_0000050", "obj": f"{OBO}EX_1"},
            {"sub": f"{OBO}EX_4"},
        ],
        meta={"version": f"{OBO}ex/releases/2026-01-02/ex.owl"},
    )
    assert (found.name, found.version, found.ids) == ("ex", "2026-01-02", ("EX:1", "EX:4"))
    assert found.resolve("EX:2").used == "EX:1"
    assert "EX:3" in found.retired
    assert found.term("EX:4").relations == (("BFO:0000050", "EX:1"),)
    assert found.iris.iri_of("EX:4") == f"{OBO}EX_4"
    warned = {(e.kind, e.where) for e in found.report.warnings}
    assert warned == {
        ("bad-boolean", "$.graphs[0].nodes[2]"), ("odd-part", "$.graphs[0].nodes[4]"),
        ("odd-part", "$.graphs[0].nodes[5]"), ("odd-part", "$.graphs[0].edges[2]"),
    }  # fmt: skip


def test_obograph_genus() -> None:
    axiom = {"definedClassId": f"{OBO}EX_2", "genusIds": [f"{OBO}EX_1"], "restrictions": []}
    assert graphs([node(1), node(2)], [], logicalDefinitionAxioms=[axiom]).term("EX:2").parents == ("EX:1",)


@pytest.mark.parametrize("data", [b'{"graphs": 1}', b'{"graphs": [1]}', b'{"graphs": ', b"[]", b"\xff"])
def test_obograph_of_another_shape(data: bytes) -> None:
    with pytest.raises(ParseError):
        read_obograph(data)


XML = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE rdf:RDF [<!ENTITY obo "http://purl.obolibrary.org/obo/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#"
 xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xml:base="http://example.org/o.owl">
<owl:Class rdf:about="&obo;EX_1"><rdfs:label>café</rdfs:label><rdfs:subClassOf>
 <rdf:Description rdf:about="&obo;EX_2"/></rdfs:subClassOf></owl:Class>
<owl:Class rdf:about="&obo;EX_2"><owl:deprecated>yes</owl:deprecated></owl:Class>
<owl:Class rdf:ID="Own"><rdfs:subClassOf rdf:resource="#Own"/></owl:Class>
</rdf:RDF>"""


def test_faults_of_xml_have_the_line_of_their_class() -> None:
    found = read_rdf(XML.encode())
    told = {e.kind: e for e in found.report.warnings}
    assert told["bad-boolean"].lines == (7,)  # where it is described, not where it is mentioned
    assert told["retired-target"].lines == (5,)
    assert told["self-loop"].lines == (8,)
    with pytest.raises(ParseError) as caught:
        read_rdf(XML.encode(), strict=True)
    assert caught.value.line == 5


def test_faults_of_several_files_have_file_and_line() -> None:
    pack = io.BytesIO()
    with zipfile.ZipFile(pack, "w") as archive:
        archive.writestr("b.ttl", HEAD + "ex:b a owl:Class ;\n  rdfs:subClassOf ex:a .\n")
        archive.writestr("a.ttl", HEAD + "\nex:a a owl:Class ; owl:deprecated 'true' .")
    warnings = read_rdf(pack.getvalue(), name="/home/z").report.warnings
    assert [(e.kind, e.where, e.lines) for e in warnings] == [
        ("bad-boolean", "a.ttl", (6,)), ("retired-target", "b.ttl", (5,))
    ]  # fmt: skip


def test_faults_of_turtle_have_the_line_of_their_subject() -> None:
    body = """ex:a a owl:Class ; rdfs:label "ends with a stop. # 1"@en .  # and a remark
ex:b a owl:Class ;
  rdfs:label '''not
ex:c a subject''' ;
  rdfs:subClassOf ex:b .
<http://example.org/v/c> a owl:Class ; rdfs:subClassOf ex:none .
"""
    told = {e.kind: e.lines for e in turtle(body).report.warnings}
    assert told == {"self-loop": (6,), "undefined-term": (10,)}


def test_xml_in_the_encoding_that_it_states() -> None:
    found = read_rdf(XML.replace("UTF-8", "ISO-8859-1", 1).encode("latin-1"))
    assert found.term("EX:1").name == "café"
    with pytest.raises(ParseError, match="not well-formed") as caught:
        read_rdf(XML.encode("latin-1"))
    assert caught.value.line == 5


@pytest.mark.parametrize("entity", ['SYSTEM "file:///etc/passwd"', f'"{"x" * 5000}"'])
def test_a_refused_entity_is_told_once_with_its_line(entity: str) -> None:
    with pytest.raises(ParseError) as caught:
        read_rdf(XML.replace('"http://purl.obolibrary.org/obo/"', entity).encode())
    assert (caught.value.line, str(caught.value).count("as XML")) == (2, 1)
    assert "UTF-8" not in caught.value.do


def test_labels_under_two_properties() -> None:
    found = turtle(
        "ex:a a owl:Class ; rdfs:label 'Hund'@de ; skos:prefLabel 'dog'@en . "
        "ex:b a owl:Class ; rdfs:label 'zebra'@en ; skos:prefLabel 'animal'@en, 'zebra'@en ."
    )
    assert (found.term("ex:a").name, found.term("ex:b").name) == ("dog", "zebra")
    assert [s.text for s in found.term("ex:a").synonyms] == ["Hund"]
    assert [s.text for s in found.term("ex:b").synonyms] == ["animal"]
    assert "label-choice" not in kinds(found)


def test_values_of_deprecated() -> None:
    found = turtle(
        "ex:a a owl:Class ; owl:deprecated 'TRUE'^^<http://www.w3.org/2001/XMLSchema#boolean> .\n"
        "ex:b a owl:Class ; owl:deprecated 1 .\nex:c a owl:Class .\n"
        "ex:d a owl:Class ; owl:deprecated true ; obo:IAO_0100001 '' .\n"
    )
    assert found.ids == ("ex:c",)
    assert [(e.kind, e.lines) for e in found.report.warnings] == [("bad-boolean", (5,)), ("bad-boolean", (6,))]
    found = turtle("ex:a a skos:Concept ; owl:deprecated 'yes'@en .\nex:b a skos:Concept .")
    assert (found.ids, [(e.kind, e.lines) for e in found.report.warnings]) == (("ex:b",), [("bad-boolean", (5,))])


def test_what_relations_of_concepts_name_is_a_concept() -> None:
    found = turtle(
        "ex:s a skos:ConceptScheme ; skos:hasTopConcept ex:t . ex:t skos:prefLabel 't'@en . "
        "ex:a a skos:Concept ; skos:narrower ex:b, ex:nothing ; skos:broader ex:t . ex:b skos:prefLabel 'bee'@en ."
    )
    assert found.ids == ("ex:a", "ex:b", "ex:t")
    assert (found.live_count, found.term("ex:b").parents, found.term("ex:b").name) == (3, ("ex:a",), "bee")
    assert [e.ids for e in found.report.warnings] == [("ex:nothing", "ex:a")]


def test_obograph_faults_are_told_once_with_their_paths() -> None:
    def node(number: int, *pairs: tuple[str, str], **meta: Any) -> dict[str, Any]:
        values = [{"pred": pred, "val": val} for pred, val in pairs]
        return {
            "id": f"{OBO}EX_{number}", "lbl": "x", "type": "CLASS", "meta": {**meta, "basicPropertyValues": values}
        }  # fmt: skip

    nodes = [
        node(1), node(2, ("http://www.w3.org/2002/07/owl#deprecated", "True")),
        node(3, (f"{OBO}IAO_0100001", "EX_1"), deprecated=True), "stray",
    ]  # fmt: skip
    edges = ["stray", {"sub": f"{OBO}EX_1", "pred": "is_a", "obj": f"{OBO}EX_1"}]
    text = json.dumps({"graphs": [{"id": f"{OBO}ex.owl", "nodes": nodes, "edges": edges}]})
    for data in (text.encode(), text.encode("utf-16")):
        found = load_ontology(data)
        assert (found.ids, found.resolve("EX:3").used) == (("EX:1",), "EX:1")
        assert [(e.kind, e.where) for e in found.report.warnings] == [
            ("bad-boolean", "$.graphs[0].nodes[1]"), ("odd-part", "$.graphs[0].edges[0]"),
            ("odd-part", "$.graphs[0].nodes[3]"), ("self-loop", "$.graphs[0].edges[1]"),
        ]  # fmt: skip
        assert [e.message[:2] for e in found.report.warnings if e.kind == "odd-part"] == ["1 ", "1 "]
    found = read_obograph(text.replace('"x"', '"ö"').encode("latin-1"))
    assert ("encoding", (1,)) in [(e.kind, e.lines) for e in found.report.warnings]


def test_concepts_without_any_type() -> None:
    found = turtle("ex:a skos:broader ex:b . ex:b skos:prefLabel 'bee'@en ; skos:narrower ex:c .")
    assert (found.live_count, found.term("ex:a").parents, found.term("ex:b").name) == (2, ("ex:b",), "bee")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_statements_line_by_line(end: str) -> None:
    kind, above = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "http://www.w3.org/2000/01/rdf-schema#subClassOf"
    lines = (
        f"<{OBO}EX_1> <{kind}> <http://www.w3.org/2002/07/owl#Class> .", "# a remark",
        f"<{OBO}EX_1> <{above}> <{OBO}EX_1> .", f"<{OBO}EX_2> <{above}> <{OBO}EX_2> .", ""
    )  # fmt: skip
    found = load_ontology(end.join(lines).encode())
    assert found.ids == ("EX:1", "EX:2")
    assert [(e.kind, e.lines) for e in found.report.warnings] == [("self-loop", (1,)), ("self-loop", (4,))]


def test_a_text_that_is_never_closed_has_a_line() -> None:
    with pytest.raises(ParseError, match="not closed") as caught:
        turtle("\nex:a a owl:Class ; rdfs:label 'x .")
    assert caught.value.line == 6


def test_restrictions_with_an_address_are_no_terms() -> None:
    some = "owl:onProperty ex:part_of ; owl:someValuesFrom ex:whole ."
    for other in ("ex:r", "<http://example.org/.well-known/genid/7>", "<http://example.org/v/genid5>"):
        found = turtle(
            f"ex:part a owl:Class ; rdfs:subClassOf ex:thing , {other} . ex:thing a owl:Class . ex:whole a owl:Class . "
            f"{other} a owl:Restriction , owl:Class ; {some}"
        )
        assert found.ids == ("ex:part", "ex:thing", "ex:whole")
        assert found.term("ex:part").parents == ("ex:thing",)
        assert found.term("ex:part").relations == (("ex:part_of", "ex:whole"),)
        assert not found.report.warnings


@pytest.mark.parametrize(
    ("text", "today", "candidates", "warned"),
    [
        ("EX:2, EX:3", None, ("EX:2", "EX:3"), ["several-ids"]),
        ("EX:2|EX:3", None, ("EX:2", "EX:3"), ["several-ids"]),
        (f"{OBO}EX_2 EX_3", None, ("EX:2", "EX:3"), ["several-ids"]),
        ("EX:2 (today's name)", "EX:2", (), ["several-ids"]),
        ("https://purl.obolibrary.org/obo/EX_2", "EX:2", (), []),
        ("today's name", None, (), ["undefined-replacement"]),
    ],
)
def test_texts_in_the_place_of_a_replacement(
    text: str, today: str | None, candidates: tuple[str, ...], warned: list[str]
) -> None:
    live = " ".join(f"obo:EX_{i} a owl:Class ; rdfs:label 'a' ." for i in (2, 3))
    found = turtle(f'{live}\nobo:EX_1 a owl:Class ; owl:deprecated true ; obo:IAO_0100001 "{text}" .')
    assert (found.resolve("EX:1").used, found.resolve("EX:1").candidates) == (today, candidates)
    assert [e.kind for e in found.report.warnings] == warned
    assert all(e.lines == (6,) for e in found.report.warnings)
    value = {"pred": f"{OBO}IAO_0100001", "val": text}
    document = graphs([node(1, deprecated=True, basicPropertyValues=[value]), node(2), node(3)], [])
    assert (document.resolve("EX:1").used, document.resolve("EX:1").candidates) == (today, candidates)


@pytest.mark.parametrize(
    ("stated", "version"),
    [
        ("owl:versionIRI <http://purl.obolibrary.org/obo/ex/2.3/ex.owl>", "2.3"),
        ("owl:versionIRI <http://purl.obolibrary.org/obo/ex/2031-01-02/ex.owl>", "2031-01-02"),
        ("owl:versionIRI <http://example.org/ex-1.0.1>", "ex-1.0.1"),
        ("owl:versionIRI <http://example.org/ex/2.3> ; owl:versionInfo '2.3.1'", "2.3.1"),
        ("owl:versionIRI <http://example.org/ex/latest>", ""),
    ],
)
def test_releases_that_a_header_states(stated: str, version: str) -> None:
    found = turtle(f"<http://purl.obolibrary.org/obo/ex.owl> a owl:Ontology ; {stated} . ex:a a owl:Class .")
    assert found.version == version


def test_genera_are_reduced_whatever_the_names_are() -> None:
    for a, b, c in (("x", "y", "z"), ("z", "y", "x"), ("y", "z", "x")):
        assert genus_edges({}, {a: [b, c], b: [c]}) == sorted([(a, b), (b, c)])
        assert genus_edges({c: ["top"]}, {a: [b, "top"], b: [c]}) == sorted([(a, b), (b, c)])
    many = [str(i) for i in range(5000)]
    assert len(genus_edges({}, {"a": many})) == 5000


def test_concepts_that_are_broader_at_some_distance() -> None:
    found = turtle(
        "ex:a a skos:Concept ; skos:narrowerTransitive ex:b , ex:c , ex:e . "
        "ex:b a skos:Concept . ex:c a skos:Concept ; skos:broaderTransitive ex:a , ex:b . "
        "ex:d a skos:Concept ; skos:broader ex:c ; skos:broaderTransitive ex:a , ex:b , ex:c . ex:e a skos:Concept ."
    )
    assert {t: found.term(t).parents for t in found.ids} == {
        "ex:a": (), "ex:b": ("ex:a",), "ex:c": ("ex:b",), "ex:d": ("ex:c",), "ex:e": ("ex:a",)
    }  # fmt: skip


def test_kinds_of_concepts_and_of_broader_that_a_vocabulary_declares() -> None:
    found = turtle(
        "ex:Tool a owl:Class ; rdfs:subClassOf ex:Thing . ex:Thing a owl:Class ; rdfs:subClassOf skos:Concept . "
        "ex:under rdfs:subPropertyOf skos:broader . iso:broaderPartitive rdfs:subPropertyOf skos:broader . "
        "ex:a a ex:Tool ; skos:prefLabel 'a'@en . ex:b a ex:Thing ; ex:under ex:a . "
        "ex:c a ex:Tool ; skos:broader ex:b ; iso:broaderPartitive ex:a ."
    )
    assert found.ids == ("ex:a", "ex:b", "ex:c")
    assert [found.term(t).parents for t in found.ids] == [(), ("ex:a",), ("ex:b",)]
    assert found.term("ex:c").relations == (("isothes:broaderPartitive", "ex:a"),)


@pytest.mark.parametrize(
    "text",
    [
        "prefix skos: <http://www.w3.org/2004/02/skos/core#>\nprefix : <http://e.org/>\n:a a skos:Concept .",
        "@prefix skos:\n  <http://www.w3.org/2004/02/skos/core#> .\n@prefix :\n<http://e.org/> .\n:a a skos:Concept .",
        "Base <http://e.org/>\n<a> a <http://www.w3.org/2004/02/skos/core#Concept> .",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_spellings_of_prefixes_and_encodings_are_told_by_content(text: str, encoding: str) -> None:
    assert load_ontology(text.encode(encoding)).ids == ("http://e.org/a",)


def test_lines_of_turtle_pass_over_what_stands_in_a_text() -> None:
    found = turtle(
        'ex:a a owl:Class ; skos:definition """One sentence.\n\nex:b is no subject here.\n# nor a comment\nend.""" .\n'
        "ex:b a owl:Class ; owl:deprecated 'yes' .\n"
    )
    (warning,) = found.report.warnings
    assert warning.lines == (10,)


def test_an_ontology_of_addresses_is_not_named_after_their_scheme() -> None:
    assert turtle("<http://a.example/x#1> a owl:Class .").name == "unnamed"


def test_obograph_spellings_of_is_a_and_of_nothing_said() -> None:
    rdfs = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
    edges = [{"sub": f"{OBO}EX_{i + 2}", "pred": pred, "obj": f"{OBO}EX_1"} for i, pred in enumerate(("is_a", rdfs))]
    found = graphs([node(1), node(2), node(3, deprecated=None)], edges)
    assert [found.term(t).parents for t in found.ids] == [(), ("EX:1",), ("EX:1",)]
    assert not found.report.entries
