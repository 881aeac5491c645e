"""Field case P-PAT-01, and the assignments of P-CPC-02: what the reader must make of patent data."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from sma_gpu.cases import CaseBatch
from sma_gpu.ontologies.builder import ontology_from_parents
from sma_gpu.ontologies.mount import mount
from sma_gpu.ontologies.readers.cpc import read_cpc
from sma_gpu.ontologies.records import Records, read_patents
from sma_gpu.retrieval import Index


def roles(records: Records, key: str) -> dict[str, tuple[str, str]]:
    record = records.record(key)
    return {a.term: (a.rows[0].qualifier, a.rows[0].evidence) for a in record.annotations}


def test_pat_01_weekly_file_of_many_documents(shared_cases: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*_: object, **__: object) -> None:
        raise AssertionError("something was to be fetched")

    monkeypatch.setattr(socket, "socket", no_network)
    first, second = read_cpc(shared_cases / "P-CPC-01.xml"), read_cpc(shared_cases / "P-CPC-03.xml")
    parents = {t: o.term(t).parents for o in (first, second) for t in o.ids}
    scheme = ontology_from_parents(parents)
    records = read_patents(shared_cases / "P-PAT-01.xml", scheme)

    assert records.keys == ("US99000001", "US99000002", "USD9900003")
    assert roles(records, "US99000001") == {
        "H99Q31/002": ("main", "inventive"),
        "H99S45/14": ("further", "inventive"),
        "H99S2201/06": ("further", "additional"),
    }
    assert roles(records, "US99000002") == {"H99Q33/00": ("main", "inventive")}
    assert records.record("USD9900003").annotations == ()
    assert records.record("US99000001").attributes["main"] == ("H99Q31/002",)
    assert records.record("US99000001").attributes["date"] == ("2026-01-06",)
    assert records.record("US99000001").attributes["kind"] == ("B2",)
    assert records.names[0] == "Toy"
    (bare,) = [n for n in records.report if n.kind == "no-symbol"]
    assert (bare.lines, bare.ids) == ((23,), ("USD9900003",))  # it begins in the middle of that line
    assert not records.report.faults

    cases = CaseBatch.from_csr(records.keys, records.phenotypes(excluded=False), records.phenotypes(excluded=True))
    index = Index.build(cases, mount(scheme))
    assert index.set_aside == ("USD9900003",)  # never a hit


def test_cpc_02_symbols_that_nobody_may_assign(shared_cases: Path) -> None:
    scheme = read_cpc(shared_cases / "P-CPC-02.xml")
    records = read_patents(shared_cases / "P-CPC-02.assign.json", scheme)
    assert {key: records.record(key).positive for key in records.keys} == {
        "D1": ("H99R1/02",),
        "D2": ("H99R1/04",),
        "D3": ("H99R",),
    }
    assert [(w.kind, w.ids) for w in records.report.faults] == [
        ("not-allocatable", ("D2", "H99R1/04")),
        ("not-allocatable", ("D3", "H99R")),
    ]
