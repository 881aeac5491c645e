"""The page to send with a bug report: backends and their devices, threads, the index of each domain."""

from __future__ import annotations

from pathlib import Path

import pytest
import toy

from sma_gpu import open_engine
from sma_gpu.answers.doctor import doctor_report, doctor_text
from sma_gpu.errors import BackendUnavailable
from sma_gpu.ops import backends, choose


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(toy.write(tmp_path / "data"))


def test_every_backend_is_listed_with_each_of_its_devices(folder: str) -> None:
    report = doctor_report(folder)
    text = doctor_text(report)
    assert [b["name"] for b in report["backends"]] == [b.name for b in backends()]
    for told, backend in zip(report["backends"], backends(), strict=True):
        assert [at["device"] for at in told["devices"]] == list(backend.devices)
        for at in told["devices"]:
            if at["serves"]:
                assert choose(backend.name, at["device"])[0] == backend.name
                assert (at["missing"], at["do"]) == (None, None)
            else:
                with pytest.raises(BackendUnavailable, match="on device"):
                    choose(backend.name, at["device"])
                assert at["missing"]
                assert f"{backend.name:9} on {at['device']:5} {at['missing']}" in text
    assert "reference on cpu   serves" in text


def test_the_index_of_a_domain_is_described_with_its_lists(folder: str) -> None:
    report = doctor_report(folder)
    medicine = next(domain for domain in report["domains"] if domain["name"] == "medicine")
    engine = open_engine(folder)
    lists = engine.index.lists_form()
    assert medicine["index"] == {
        "cases": 6,
        "set_aside": 1,
        "form": "postings",
        "list_bytes": lists.list_bytes,
        "table_bytes": lists.table_bytes,
        "kept_bytes": lists.kept_bytes,
        "attributes": ["source", "date", "reference", "evidence", "frequency", "inheritance"],
    }
    assert lists.list_bytes > 0
    text = doctor_text(report)
    assert "6 cases, 1 set aside; lists postings" in text
    assert "--where   source, date, reference, evidence, frequency, inheritance" in text
    others = [domain for domain in report["domains"] if domain["name"] != "medicine" and not domain["records"]]
    assert all(domain["index"] is None for domain in others)


def test_threads_are_told(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    report = doctor_report(folder)
    assert report["threads"]["cores"] >= 1
    serves = {b["name"]: b["serves"] for b in report["backends"]}
    assert (report["threads"]["numba"] is not None) == serves["cpu"]
    assert report["environment"]["NUMBA_NUM_THREADS"] == "1"
    assert f"{report['threads']['cores']} cores; " in doctor_text(report)
