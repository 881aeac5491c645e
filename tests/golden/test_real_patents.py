"""The Cooperative Patent Classification as published, and patents of one assignee."""

from __future__ import annotations

import gzip
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest

from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.records import Records, load_records

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "legal"


@pytest.fixture(scope="module")
def cpc(folder: Path) -> Ontology:
    return load_ontology(folder / "cpc-title-list-2025.05.tar.xz")


@pytest.fixture(scope="module")
def older(folder: Path) -> Ontology:
    return load_ontology(folder / "cpc-title-list-2022.08.tar.xz")


def test_counts_of_the_title_list(cpc: Ontology) -> None:
    assert (cpc.name, cpc.version) == ("cpc", "2025-05-01")
    assert cpc.live_count == len(cpc.ids) == 260_993
    assert len(cpc.parents) == 260_984
    assert cpc.roots == ("A", "B", "C", "D", "E", "F", "G", "H", "Y")
    depth = np.zeros(len(cpc), np.int64)
    for term in sorted(range(len(cpc)), key=lambda i: (len(cpc.ids[i].partition("/")[0]), cpc.ids[i])):
        above, steps = term, 0
        while len(parents := cpc.parents_of(above)):
            above, steps = int(parents[0]), steps + 1
        depth[term] = steps
    assert len(set(depth.tolist())) == 16  # levels
    assert not len(cpc.report)


def test_two_releases_differ_by_what_was_counted(cpc: Ontology, older: Ontology) -> None:
    assert (older.version, older.live_count) == ("2022-08-01", 260_263)
    assert len(set(older.ids) - set(cpc.ids)) == 4_089
    assert len(set(cpc.ids) - set(older.ids)) == 4_819


def test_every_parent_is_that_of_the_levels(folder: Path, cpc: Ontology) -> None:
    """The parent of an entry is the last one before it whose level is smaller, worked out by plain scanning."""
    with tarfile.open(folder / "cpc-title-list-2025.05.tar.xz") as tar:
        section = next(m for m in tar.getmembers() if "section-C" in m.name)
        opened = tar.extractfile(section)
        assert opened is not None
        rows = [line.split("\t") for line in opened.read().decode().replace("\r", "").split("\n") if line]
    levels = [int(level) + 10 if level else len(symbol) for symbol, level, _ in rows]
    for at, (symbol, _, _) in enumerate(rows):
        wanted = next((rows[b][0] for b in range(at - 1, -1, -1) if levels[b] < levels[at]), None)
        assert cpc.term(symbol).parents == (() if wanted is None else (wanted,))


def test_one_native_scheme_file(folder: Path, cpc: Ontology) -> None:
    scheme = load_ontology(folder / "cpc-scheme-A01L.xml.gz")
    assert scheme.version == "2016-05-01"
    assert scheme.roots == ("A01L",)
    assert len(scheme) == 19
    assert not scheme.report.faults
    for symbol in scheme.ids[1:]:  # the older scheme and the newer list agree on all that both have
        assert cpc.term(symbol).parents == scheme.term(symbol).parents
        assert cpc.term(symbol).name == scheme.term(symbol).name


def test_patents_of_one_assignee(folder: Path, cpc: Ontology) -> None:
    path = folder / "us-patents-apple-2020-2025.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    mentions = [(row["id"], symbol) for row in rows for symbol in row["cpc"]]
    known = [(key, symbol) for key, symbol in mentions if symbol in cpc.number]
    assert (len(rows), len(mentions), len({symbol for _, symbol in mentions})) == (15_966, 154_442, 16_221)
    assert round(len(known) / len(mentions), 3) == 0.987

    records: Records = load_records(path, cpc)
    assert len(records) == 15_966
    held = [
        (records.keys[i], records.term_ids[term])
        for i in range(len(records))
        for term in records.term[records.ptr[i] : records.ptr[i + 1]].tolist()
    ]
    assert held == sorted(known)
    lost = [entry for entry in records.report.warnings if entry.kind == "unknown-id"]
    assert sum(len(entry.lines) for entry in lost) == len(mentions) - len(known)
    assert len(lost) == len(records.report.faults) == len({s for _, s in mentions if s not in cpc.number})
    first = records.record("US10524670")
    assert first.attributes == {"date": ("2020-01-07",), "source": ("Apple Inc.",)}
