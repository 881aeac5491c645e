"""What comes from the cache is mapped and not copied, equals what was read, and is at hand at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from mapped import arrays_of_ontology, arrays_of_records, assert_same_ontology, assert_same_records, is_mapped

from sma_gpu.ontologies import loading
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.records import loading as records_loading
from sma_gpu.ontologies.records.loading import load_records

SAMPLES = Path(loading.__file__).parent / "samples"
GREATEST_CPU_S = 3.0  # six times what is aimed at: a whole reading of the larger files takes longer than that

SAMPLE_FILES = [
    ("genomics/go-slice.obo.xz", "genomics/goa-human-slice.gaf.xz"),
    ("legal/cpc-slice.txt.xz", "legal/patents.jsonl.xz"),
    ("finance/us-gaap-slice.xsd.xz", "finance/filings.jsonl.xz"),
]
REAL_FILES = [
    ("cyber/ics-attack-18.1.stix21.json.xz", "cyber/ics-attack-18.1.stix21.json.xz"),
    ("cyber/mobile-attack-17.1.stix21.json.xz", "cyber/mobile-attack-17.1.stix21.json.xz"),
    *(
        pytest.param(*files, marks=pytest.mark.slow)
        for files in (
            ("medicine/hp-2025-01-16.obo.xz", "medicine/phenotype-2025-01-16.hpoa.xz"),
            ("genomics/go-2019-01-27.obo.xz", "genomics/goa_human_2019-01.gaf.xz"),
            ("cyber/enterprise-attack-18.1.stix20.json.xz", "cyber/enterprise-attack-18.1.stix20.json.xz"),
            ("legal/cpc-title-list-2025.05.tar.xz", "legal/us-patents-apple-2020-2025.jsonl.gz"),
            ("finance/us-gaap-2020-01-31.tar.xz", "finance/sec-fsds-filings-2009q3-2010q4.jsonl.gz"),
            ("finance/fibo-2026-07-17-owl.tar.xz", ""),
        )
    ),
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMA_GPU_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(("ontology", "records"), SAMPLE_FILES)
def test_a_bundled_sample(ontology: str, records: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from_cache(SAMPLES / ontology, SAMPLES / records, monkeypatch)


@pytest.mark.parametrize(("ontology", "records"), REAL_FILES)
def test_a_published_file(ontology: str, records: str, shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from_cache(shared_data / ontology, shared_data / records if records else None, monkeypatch)


def from_cache(file: Path, records_file: Path | None, monkeypatch: pytest.MonkeyPatch) -> None:
    read = load_ontology(file)
    table = None if records_file is None else load_records(records_file, read)

    monkeypatch.setattr(loading, "read_ontology", never(Ontology))
    monkeypatch.setattr(records_loading, "head_of", never(bytes))  # the look that comes before any reading
    start = time.process_time()
    again = load_ontology(file)
    table_again = None if records_file is None else load_records(records_file, again)
    spent = time.process_time() - start

    assert_same_ontology(again, read)
    for name, array in arrays_of_ontology(again).items():
        assert is_mapped(array), name
    if table is not None and table_again is not None:
        assert len(table)
        assert_same_records(table_again, table)
        for name, array in arrays_of_records(table_again).items():
            assert is_mapped(array), name
    assert not any(is_mapped(array) for array in arrays_of_ontology(read).values())
    assert spent < GREATEST_CPU_S


def never(result: type) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> object:
        raise AssertionError(f"{result.__name__} was read from the source although a compiled file is there")

    return fail
