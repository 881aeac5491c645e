"""Adapters frozen: equal bytes of equal ingredients, and every change found and named."""

from __future__ import annotations

import dataclasses
import errno
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy
from small_medicine import write_small

from sma_gpu import Dials, Index, open_engine
from sma_gpu.answers import adapter_lock
from sma_gpu.answers.adapter_bundle import freeze
from sma_gpu.answers.adapter_lock import CARD, LOCK, lock_text, read_lock, sealed
from sma_gpu.answers.adapter_verification import adapter_verification
from sma_gpu.answers.calibrating import calibrate
from sma_gpu.answers.own_index import MANIFEST
from sma_gpu.answers.own_index_making import save_calibration, write_own
from sma_gpu.answers.solved import solve
from sma_gpu.cli import main
from sma_gpu.errors import ArtifactError, DataMissing, FingerprintMismatch, QueryError, SmaError
from sma_gpu.ontologies.records.patients import read_patients
from sma_gpu.trust.calibration import Calibration

LONG = ["HP:9910110", "HP:9920100", "HP:9930100"]
SSSOM = "subject_id\tpredicate_id\tobject_id\n"
TWINS = "MONDO:1\tskos:exactMatch\tOMIM:990001\nMONDO:1\tskos:exactMatch\tOrphanet:990003\n"
GENES = "ncbi_gene_id\tgene_symbol\thpo_id\thpo_name\tfrequency\tdisease_id\n7\tTOY\tHP:1\t\t-\tOMIM:990001\n"
INFORMATION = ("made_with", "evaluation", "sha256")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = toy.write(tmp_path / "sources")
    (folder / "twins.sssom.tsv").write_text(SSSOM + TWINS, encoding="utf-8")
    (folder / "genes.txt").write_text(GENES, encoding="utf-8")
    return folder


@pytest.fixture
def bundle(sources: Path, tmp_path: Path) -> Path:
    return freeze(str(sources), tmp_path / "bundle")[1]


def told(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    assert main([str(word) for word in words]) == code
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: object, code: int = 2) -> str:
    assert main([str(word) for word in words]) == code
    return capsys.readouterr().err


def other(found: dict[str, Any]) -> dict[str, str]:
    """Returns the state of each field that is not as it was."""
    return {c["field"]: c["state"] for c in found["checks"] if c["state"] not in ("equal", "not compared")}


def test_a_frozen_adapter_is_the_one_that_was_frozen(
    sources: Path, bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = told(capsys, "adapter", "verify", bundle)
    assert text.endswith("the adapter is the one that was frozen\n")
    assert "DIFFERENT" not in text and "equal        probes answered as frozen: 6\n" in text
    assert told(capsys, "adapter", "verify", bundle, sources).endswith("the adapter is the one that was frozen\n")
    assert told(capsys, "adapter", "verify", bundle / LOCK).endswith("the adapter is the one that was frozen\n")


def test_the_lock_says_what_the_adapter_is_made_of(bundle: Path, sources: Path) -> None:
    lock, engine = read_lock(bundle / LOCK), open_engine(str(sources))
    assert (lock["domain"], lock["entity"], lock["language"], lock["sample"]) == ("medicine", "disease", "en", False)
    assert lock["ontology"]["version"] == lock["records"]["version"] == "2026-01-01"
    assert lock["ontology"]["sha256"] == engine.domain.mounted.ontology.sha256
    assert lock["records"]["count"] == 7 and lock["index"]["cases"] == 6 and lock["index"]["set_aside"] == 1
    assert lock["dials"] == engine.index.dials.as_dict() and lock["index"]["fingerprint"] == engine.index.fingerprint
    assert lock["mappings"]["groups"] == 1 and lock["genes"] is not None
    assert lock["calibration"] is lock["evaluation"] is lock["scorer"]["package"] is None
    assert [probe["case"] for probe in lock["probes"]["answers"]] == [0, 1, 2, 3, 4, 5]


def test_a_bundle_answers_byte_for_byte_what_the_domain_does(
    sources: Path, bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ([], ["--merge-equivalents"], ["--by", "gene"], ["--dials", "adapter-v1"]):
        of_domain, of_bundle = (told(capsys, "query", place, *LONG, *more, "--json") for place in (sources, bundle))
        assert of_bundle == of_domain
    assert "MONDO:1" in of_bundle and '"rank": 1' in of_bundle


def test_equal_ingredients_give_equal_bytes_wherever_they_lie(sources: Path, bundle: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "far" / "away"
    elsewhere.mkdir(parents=True)
    for file in sources.iterdir():
        with gzip.open(elsewhere / f"of-another-name-{file.name}.gz", "wb") as packed:
            packed.write(file.read_bytes())
    again = freeze(str(elsewhere), tmp_path / "again")[1]
    for name in (LOCK, CARD):
        assert (again / name).read_bytes() == (bundle / name).read_bytes()
    for place in (tmp_path, elsewhere, sources):
        assert str(place) not in (bundle / LOCK).read_text() + (bundle / CARD).read_text()
    assert not [key for key in toy.DISEASES if key in (bundle / LOCK).read_text()]


@pytest.mark.parametrize("seed", ["1", "2"])
def test_no_hash_seed_changes_a_byte(seed: str, sources: Path, bundle: Path, tmp_path: Path) -> None:
    words = ["adapter", "freeze", str(sources), "-o", str(tmp_path / seed), "--backend", "reference"]
    run = [sys.executable, "-m", "sma_gpu", *words]
    subprocess.run(
        run, check=True, capture_output=True, env={"PYTHONHASHSEED": seed, "PATH": "", "HOME": str(tmp_path)}
    )
    for name in (LOCK, CARD):
        assert (tmp_path / seed / name).read_bytes() == (bundle / name).read_bytes()


def test_one_changed_byte_of_a_source_is_found_and_named(
    sources: Path, bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = sources / "phenotype.hpoa"
    path.write_bytes(
        path.read_bytes().replace(
            b"OMIM:990005\tHeart disease\t\tHP:9930100", b"OMIM:990005\tHeart disease\t\tHP:9930000"
        )
    )
    text = told(capsys, "adapter", "verify", bundle, code=1)
    assert "DIFFERENT    source of records: phenotype.hpoa" in text
    assert text.count("DIFFERENT") == 1
    found = adapter_verification(bundle, str(sources))
    assert set(other(found)) >= {"records.sha256", "records.content_sha256", "index.fingerprint"}
    assert "records hpoa: another file, of the same stated release 2026-01-01" in found["changes"]
    assert "records: 1 with other terms" in found["changes"]


def test_a_change_that_leaves_the_meaning_is_found_too(sources: Path, bundle: Path) -> None:
    path = sources / "hp.obo"
    path.write_bytes(path.read_bytes() + b"\n")
    found = adapter_verification(bundle, str(sources))
    assert {"ontology.sha256", "index.fingerprint"} <= set(other(found))
    assert "terms of hp: none added, gone or changed" in found["changes"]


def test_another_release_is_named_with_what_came_and_went(sources: Path, bundle: Path) -> None:
    newer = toy.obo("2026-02-01").replace("name: Wide aorta", "name: Broad aorta")
    newer = newer.replace(
        "[Term]\nid: HP:9930100", "[Term]\nid: HP:9930300\nname: New\nis_a: HP:9930000\n\n[Term]\nid: HP:9930100"
    )
    (sources / "hp.obo").write_text(newer, encoding="utf-8")
    rows = [line for line in toy.hpoa("2026-02-01").splitlines() if "OMIM:990002" not in line]
    rows += [toy.row(f"OMIM:99001{n}", "New disease", "", "HP:9930100", "", "P") for n in range(3)]
    (sources / "phenotype.hpoa").write_text("\n".join(rows) + "\n", encoding="utf-8")
    found = adapter_verification(bundle, str(sources))
    assert not found["agrees"]
    assert "ontology hp, release 2026-01-01 -> 2026-02-01" in found["changes"]
    assert "records hpoa, release 2026-01-01 -> 2026-02-01" in found["changes"]
    assert "terms of hp: 1 added, 1 renamed" in found["changes"]
    assert "records: 3 added, 1 gone" in found["changes"]
    without_index = shutil.copy(bundle / LOCK, sources.parent / "alone.lock")
    alone = adapter_verification(Path(without_index), str(sources))
    assert "records hpoa: records 7 -> 9" in alone["changes"] and not alone["agrees"]


def test_swapped_dials_are_named(sources: Path, bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_own(str(sources / "hp.obo"), str(sources / "phenotype.hpoa"), bundle, Dials(rho=0.75))
    text = told(capsys, "adapter", "verify", bundle, code=1)
    assert "DIFFERENT    dials.rho: 0.75, frozen 0.5" in text
    assert "  dial rho 0.5 -> 0.75\n" in text and "  dial scorer evidence -> ic\n" in text


def test_dials_edited_in_the_manifest_are_refused(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = bundle / MANIFEST
    manifest.write_text(manifest.read_text().replace('"rho": 0.5', '"rho": 0.6'))
    assert "dials" in refused(capsys, "adapter", "verify", bundle)


def test_a_damaged_or_missing_index_is_told_apart(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = next(bundle.glob("records-*.safetensors"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "damaged" in refused(capsys, "adapter", "verify", bundle)
    path.unlink()
    assert path.name in refused(capsys, "adapter", "verify", bundle, code=3)
    (bundle / MANIFEST).unlink()
    assert "no index lies beside it" in refused(capsys, "adapter", "verify", bundle, code=3)
    (bundle / LOCK).unlink()
    assert "cannot be read" in refused(capsys, "adapter", "verify", bundle, code=3)


def test_a_cut_lock_is_refused_wherever_it_was_cut(bundle: Path, tmp_path: Path) -> None:
    whole = (bundle / LOCK).read_bytes()
    cut = tmp_path / "cut.lock"
    for length in range(0, len(whole) - 2, 37):
        cut.write_bytes(whole[:length])
        with pytest.raises(ArtifactError, match=r"cut or damaged|no lock"):
            read_lock(cut)
    cut.write_bytes(whole[:-1])  # the end of the last line says nothing
    assert read_lock(cut) == read_lock(bundle / LOCK)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "no lock of an adapter"),
        ("[1]", "no lock of an adapter"),
        ('{"schema": 3}', "no lock of an adapter"),
        ('{"schema": "sma-gpu/own-index/1"}', "no lock of an adapter"),
        ('{"schema": "sma-gpu/adapter-lock/2", "made_with": {"sma_gpu": "9.9"}}', "format 2, written by release 9.9"),
        ('{"schema": "sma-gpu/adapter-lock/1", "schema": "sma-gpu/adapter-lock/1"}', "stands twice"),
        ("\ufeff\x00", "cut or damaged"),
        ("[" * 100_000, "cut or damaged"),
        ('{"schema": "sma-gpu/adapter-lock/1", "k": NaN}', "cut or damaged"),
        ('{"schema": "sma-gpu/adapter-lock/1", "k": 1e999}', "cut or damaged"),
    ],
)
def test_what_is_no_lock_is_refused_in_words(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text(text, encoding="utf-8")
    with pytest.raises(ArtifactError, match=words):
        read_lock(tmp_path / LOCK)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, (dict, list)):
        for name, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(part, (*path, name))
    else:
        yield path, value


def altered(lock: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(lock))
    held = found
    for name in path[:-1]:
        held = held[name]
    held[path[-1]] = value
    return found


def test_every_number_edited_in_a_lock_is_found(bundle: Path) -> None:
    lock = read_lock(bundle / LOCK)
    for path, value in leaves(lock):
        new = not value if isinstance(value, bool) else value + 1 if isinstance(value, (int, float)) else f"{value}1"
        changed = altered(lock, path, new)
        (bundle / LOCK).write_text(lock_text(changed))
        with pytest.raises(ArtifactError, match=r"changed after it was frozen|no lock|format 11"):
            read_lock(bundle / LOCK)


def forge_every_field(bundle: Path, parts: set[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Returns how many forged fields were found by their name, all there are in these parts of the lock."""
    lock, now = read_lock(bundle / LOCK), {}
    adapter_of = adapter_lock.adapter_of

    def once(*given: Any, **more: Any) -> dict[str, Any]:
        if "found" not in now:
            now["found"] = adapter_of(*given, **more)
        return json.loads(json.dumps(now["found"]))

    monkeypatch.setattr("sma_gpu.answers.adapter_verification.adapter_of", once)
    forged = 0
    for path, value in leaves(lock):
        if path[0] not in parts or (value is None and path[0] not in ("domain", "catalogued", "scorer")):
            continue
        new = not value if isinstance(value, bool) else value + 1 if isinstance(value, (int, float)) else f"{value}1"
        (bundle / LOCK).write_text(lock_text(sealed(altered(lock, path, new))))
        if path[0] == "dials" and new != 3 and new != 1.25:  # else it is outside the range of its dial
            with pytest.raises(ArtifactError, match=f"dial {path[1]}"):
                adapter_verification(bundle)
            continue
        found = adapter_verification(bundle)
        assert not found["agrees"]
        field = "probes answered as frozen" if path[0] == "probes" else ".".join(map(str, path))
        assert field in other(found), path
        forged += 1
    return forged


def test_a_disk_that_is_full_is_named_and_leaves_what_was_there(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name: path.read_bytes() for path in bundle.iterdir()}

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert f"write {bundle / LOCK}: it cannot be written (No space left" in refused(capsys, "adapter", "freeze", bundle)
    assert {path.name: path.read_bytes() for path in bundle.iterdir()} == before


def test_a_word_that_is_no_unicode_is_frozen(tmp_path: Path) -> None:
    sources = toy.write(tmp_path / "sources")
    (tmp_path / "rows.tsv").write_text("key\tterms\nA\tHP:9910110\n")
    folder = tmp_path / "own"
    write_own(str(sources / "hp.obo"), str(tmp_path / "rows.tsv"), folder, entity="pat\udcff")
    freeze(str(folder))
    assert "pat\\udcffs by terms" in (folder / CARD).read_text(encoding="utf-8")
    assert adapter_verification(folder)["agrees"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("sample", "x"), ("catalogued", 5), ("domain", 5), ("language", None), ("encoder_version", True)],
)
def test_a_field_of_another_type_is_refused(name: str, value: object, bundle: Path) -> None:
    lock = sealed({**read_lock(bundle / LOCK), name: value})
    (bundle / LOCK).write_text(lock_text(lock))
    with pytest.raises(ArtifactError, match=f"{name} is {value!r}"):
        read_lock(bundle / LOCK)


def test_every_field_of_a_forged_lock_is_compared(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {*read_lock(bundle / LOCK)} - {*INFORMATION, "schema", "calibration"}
    assert forge_every_field(bundle, parts, monkeypatch) > 40


@pytest.mark.parametrize("part", ["mappings", "genes"])
def test_what_is_gone_is_not_there(part: str, bundle: Path) -> None:
    (bundle / {"mappings": "twins.sssom.tsv", "genes": "genes.txt"}[part]).unlink()
    found = adapter_verification(bundle)
    assert other(found) == {part: "not there"}
    assert f"{part}: some frozen, none there" in found["changes"]


def test_a_card_that_is_not_that_of_the_lock_is_found(bundle: Path) -> None:
    card = bundle / CARD
    card.write_text(card.read_text().replace("6 diseases", "9 diseases"))
    assert other(adapter_verification(bundle)) == {CARD: "different"}
    card.unlink()
    assert other(adapter_verification(bundle)) == {CARD: "not there"}


def test_sources_that_are_gone_are_not_needed(sources: Path, bundle: Path) -> None:
    shutil.rmtree(sources)
    assert adapter_verification(bundle)["agrees"]


def test_another_encoder_is_named(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter_lock, "ENCODER_VERSION", adapter_lock.ENCODER_VERSION + 1)
    found = adapter_verification(bundle)
    assert other(found) == {"encoder_version": "different"}
    assert "query encoder version 1 -> 2" in found["changes"]


def test_the_fixed_queries_prove_the_behaviour(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    retrieve = Index.retrieve

    def wrong(self: Index, *given: Any, **more: Any) -> Any:
        hits = retrieve(self, *given, **more)
        hits.score_q[2, 0] += np.int64(1)
        return hits

    monkeypatch.setattr(Index, "retrieve", wrong)
    found = adapter_verification(bundle)
    assert other(found) == {"probes answered as frozen": "different"}
    words = "1 of 6 fixed queries are answered otherwise, though the index is the same: the code that ranks changed"
    assert found["changes"] == [words]


def test_a_scorer_of_another_package_is_frozen_with_its_version(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "packages"
    info = package / "toy_scorers-1.0.dist-info"
    info.mkdir(parents=True)
    (package / "toy_scorers.py").write_text("def halves(counts, cases):\n    return 0.5 * (cases - counts).clip(0)\n")
    (info / "entry_points.txt").write_text("[sma_gpu.scorers]\nhalves = toy_scorers:halves\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-scorers\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(package))
    lock, folder = freeze(str(sources), tmp_path / "b", Dials(scorer="toy-scorers:halves"))
    assert lock["scorer"] == {"name": "toy-scorers:halves", "package": "toy-scorers", "version": "1.0"}
    assert "the package `toy-scorers` 1.0" in (folder / CARD).read_text()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-scorers\nVersion: 1.1\n")
    found = adapter_verification(folder)
    assert other(found) == {"scorer.version": "different"}
    assert "package toy-scorers of the scorer 1.0 -> 1.1" in found["changes"]


def test_mappings_are_taken_as_asked(sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert freeze(str(sources), out, mappings="none")[0]["mappings"] is None
    assert adapter_verification(out)["agrees"]
    found = adapter_verification(out, str(sources))
    assert found["agrees"] and any("no mappings were frozen" in note for note in found["notes"])
    assert "rank  merged" not in told(capsys, "query", out, *LONG)
    assert freeze(str(sources), out)[0]["mappings"]["mapped"] == 2
    assert "rank  merged" in told(capsys, "query", out, *LONG)
    mine = tmp_path / "mine.tsv"
    mine.write_text(SSSOM + TWINS.replace("MONDO:1", "MONDO:2"), encoding="utf-8")
    assert freeze(str(sources), out, mappings=str(mine))[0]["mappings"]["mapped"] == 2
    assert not (out / "twins.sssom.tsv").exists() and (out / "mine.tsv").is_file()
    assert "through MONDO:2" in told(capsys, "query", out, *LONG)
    assert other(adapter_verification(out, str(sources))) == {"mappings.sha256": "different"}
    assert adapter_verification(out, str(sources), mappings=str(mine))["agrees"]


def test_files_that_would_be_taken_instead_are_refused(sources: Path, bundle: Path, tmp_path: Path) -> None:
    (bundle / "a.sssom.tsv").write_text(SSSOM + TWINS.replace("MONDO:1", "MONDO:3"), encoding="utf-8")
    with pytest.raises(ArtifactError, match=r"a\.sssom\.tsv lies in it and would be taken for its mappings"):
        freeze(str(sources), bundle)
    with pytest.raises(QueryError, match="no file of mappings"):
        freeze(str(sources), tmp_path / "new", mappings=str(sources / "phenotype.hpoa"))
    assert not (tmp_path / "new" / LOCK).exists()
    with pytest.raises(DataMissing):
        freeze(str(sources), tmp_path / "new", mappings=str(tmp_path / "nowhere.tsv"))


def test_an_index_of_ones_own_is_frozen_where_it_lies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cases.csv").write_text("id,terms,year\nA,GO:0003674,2024\nB,GO:0005575;GO:0008150,2025\n")
    own = tmp_path / "own"
    columns = ["--columns", "key=id", "terms=terms"]
    told(capsys, "index", "genomics", tmp_path / "cases.csv", "-o", own, *columns, "--entity", "sample")
    before = told(capsys, "query", own, "GO:0008150", "--json")
    text = told(capsys, "adapter", "freeze", own)
    assert f"{own}: 2 samples over" in text
    assert told(capsys, "query", own, "GO:0008150", "--json") == before
    lock = read_lock(own / LOCK)
    assert lock["records"]["selection"] == "key=id terms=terms" and lock["records"]["reader"] == ""
    told(capsys, "adapter", "verify", own)
    told(capsys, "adapter", "verify", own, own)
    with (tmp_path / "cases.csv").open("a") as file:
        file.write("C,GO:0003674,2026\n")
    assert "source of records: cases.csv" in told(capsys, "adapter", "verify", own, code=1)
    told(capsys, "index", "genomics", tmp_path / "cases.csv", "-o", tmp_path / "anew", *columns, "--entity", "sample")
    assert "records: 1 added" in told(capsys, "adapter", "verify", own, tmp_path / "anew", code=1)
    assert "is frozen where it lies" in refused(capsys, "adapter", "freeze", own, "-o", tmp_path / "other")
    assert "it was built under" in refused(capsys, "adapter", "freeze", own, "--dials", "adapter-v1")
    assert "made with those in en" in refused(capsys, "adapter", "freeze", own, "--language", "de")


def test_a_folder_called_like_a_domain_is_a_folder(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lock, folder = freeze(str(sources), Path("genomics"))
    assert lock["domain"] == "medicine" and (folder / LOCK).is_file()
    assert adapter_verification(folder)["agrees"]


def test_wrong_uses_are_refused(sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no folder is named" in refused(capsys, "adapter", "freeze", sources)
    assert "ready domains are" in refused(capsys, "adapter", "freeze", "nothing", "-o", tmp_path / "out", code=3)
    assert "records of kind x" in refused(capsys, "adapter", "freeze", sources, "-o", tmp_path / "out", "--kind", "x")
    (tmp_path / "file").write_text("")
    assert "cannot be written" in refused(capsys, "adapter", "freeze", sources, "-o", tmp_path / "file")
    assert not (tmp_path / "out").exists()


def evaluated(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    lines = [{"id": key, "observed": terms, "gold": [key]} for key, (_, terms) in toy.DISEASES.items()]
    (tmp_path / "solved.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    told(capsys, "evaluate", bundle, tmp_path / "solved.jsonl", "--json", "-o", tmp_path / "evaluation.json")
    return tmp_path / "evaluation.json"


def test_an_evaluation_gives_the_figures_and_no_case(
    sources: Path, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = evaluated(bundle, tmp_path, capsys)
    told(capsys, "adapter", "freeze", bundle, "--evaluation", path)
    lock, measured = read_lock(bundle / LOCK), json.loads(path.read_text())
    assert lock["evaluation"]["slices"][0]["strict"]["mean"]["top1"]["value"] == pytest.approx(
        measured["slices"][0]["strict"]["mean"]["top1"]["value"], abs=0
    )
    assert not [key for key in toy.DISEASES if key in (bundle / LOCK).read_text() + (bundle / CARD).read_text()]
    assert adapter_verification(bundle)["agrees"]
    freeze(str(bundle))
    assert read_lock(bundle / LOCK) == lock  # the figures of the same index stay
    other_index = freeze(str(sources), tmp_path / "other", Dials())[1]
    with pytest.raises(FingerprintMismatch, match="it is of the index"):
        freeze(str(other_index), evaluation=path)
    freeze(str(sources), bundle, Dials())
    assert read_lock(bundle / LOCK)["evaluation"] is None


def test_an_evaluation_under_other_mappings_is_refused(
    sources: Path, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = evaluated(bundle, tmp_path, capsys)
    with pytest.raises(FingerprintMismatch, match="made with other mappings"):
        freeze(str(sources), bundle, mappings="none", evaluation=path)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "sma-gpu/answer/1"}', '{"schema": "sma-gpu/evaluation/1"}']
)
def test_what_is_no_evaluation_is_refused(text: str, bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "e.json").write_text(text)
    before = (bundle / LOCK).read_bytes()
    with pytest.raises(SmaError, match="read the evaluation"):
        freeze(str(bundle), evaluation=tmp_path / "e.json")
    assert (bundle / LOCK).read_bytes() == before


def test_json_holds_what_the_text_says(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frozen = json.loads(told(capsys, "adapter", "freeze", bundle, "--json"))
    assert frozen["schema"] == "sma-gpu/adapter-freeze/1" and frozen["lock"] == read_lock(bundle / LOCK)
    told(capsys, "adapter", "verify", bundle, "--json", "-o", tmp_path / "v.json")
    found = json.loads((tmp_path / "v.json").read_text())
    assert found["schema"] == "sma-gpu/adapter-verification/1" and found["agrees"] is True
    assert found["lock"] == frozen["lock"]["sha256"]
    assert {check["state"] for check in found["checks"]} <= {"equal", "not compared"}


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder of sources, and a calibration of their index."""
    folder = tmp_path_factory.mktemp("calibrated")
    sources = write_small(folder / "sources")
    engine, rng = open_engine(str(sources), backend="reference"), random.Random(3)
    lines = []
    for number in range(60):
        terms = engine.domain.records.record_at(number % 40).positive
        observed = [*rng.sample(terms, 2), *(f"HP:99{rng.randrange(58):05d}" for _ in range(2))]
        lines.append({"id": f"case {number}", "observed": observed, "gold": [f"OMIM:99{number % 40:04d}"]})
    path = folder / "solved.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = calibrate(engine, solve(engine, read_patients(str(path)), str(path), None))
    (folder / "c.json").write_text(found.to_json())
    return sources, folder / "c.json"


def test_a_calibration_is_frozen_with_its_index(
    calibrated: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources, path = calibrated
    told(capsys, "adapter", "freeze", sources, "-o", tmp_path / "b", "--calibration", path)
    lock, card = read_lock(tmp_path / "b" / LOCK), (tmp_path / "b" / CARD).read_text()
    found = Calibration.from_json(path.read_text())
    assert lock["calibration"]["fingerprint"] == found.fingerprint and lock["calibration"]["queries"] == 60
    first = found.held_out.figures()["first"]
    assert lock["calibration"]["figures"]["first"]["ece"] == first["ece"]
    shown = " | ".join(f"{first[name]:.3f}" for name in ("true", "ece", "ece_by_chance", "brier", "log_loss", "auroc"))
    assert f"| the first hit is right | 60 | {shown} |" in card
    assert f"of which the first hit was right in {first['true']:.1%}: where right first hits are rarer" in card
    assert "Not calibrated" not in card and "how often a hit of some confidence is right" not in card
    assert adapter_verification(tmp_path / "b")["agrees"]
    with_files = adapter_verification(tmp_path / "b", str(sources))
    assert with_files["agrees"] and any("calibration" in note for note in with_files["notes"])
    freeze(str(tmp_path / "b"))
    assert read_lock(tmp_path / "b" / LOCK) == lock


def test_another_or_a_missing_calibration_is_found(calibrated: tuple[Path, Path], tmp_path: Path) -> None:
    sources, path = calibrated
    folder = freeze(str(sources), tmp_path / "b", calibration=path)[1]
    saved = next(folder.glob("calibration-*.json"))
    frozen, whole = saved.read_text(), json.loads(saved.read_text())
    whole["seed"] += 1
    saved.write_text(json.dumps(whole))
    with pytest.raises(ArtifactError, match="does not match its fingerprint"):
        adapter_verification(folder)
    saved.write_text(frozen)
    save_calibration(folder, dataclasses.replace(Calibration.from_json(frozen), seed=7))
    found = adapter_verification(folder)
    assert set(other(found)) == {"calibration.fingerprint", "calibration.seed"}
    assert any(change.startswith("calibration ") for change in found["changes"])
    write_own(str(sources / "hp.obo"), str(sources / "phenotype.hpoa"), folder)
    found = adapter_verification(folder)
    assert other(found) == {"calibration": "not there"} and "calibration: some frozen, none there" in found["changes"]


def test_a_calibration_made_after_freezing_is_named_by_its_fingerprint(
    calibrated: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources, path = calibrated
    folder = freeze(str(sources), tmp_path / "b")[1]
    save_calibration(folder, Calibration.from_json(path.read_text()))
    text = told(capsys, "adapter", "verify", folder, code=1)
    assert f"DIFFERENT    calibration: {Calibration.from_json(path.read_text()).fingerprint}, frozen null\n" in text
    assert "calibration: none frozen, some there" in text
    assert "what changed" not in told(capsys, "adapter", "verify", folder, sources)


def test_a_calibration_of_another_index_is_refused(calibrated: tuple[Path, Path], tmp_path: Path) -> None:
    sources, path = calibrated
    with pytest.raises(FingerprintMismatch, match="calibration"):
        freeze(str(sources), tmp_path / "ic", Dials(), calibration=path)
    folder = freeze(str(sources), tmp_path / "b", calibration=path)[1]
    assert freeze(str(sources), folder, Dials())[0]["calibration"] is None
    assert not [*folder.glob("calibration-*.json")]
    with pytest.raises(DataMissing):
        freeze(str(sources), folder, calibration=tmp_path / "nowhere.json")


def test_every_figure_of_a_forged_calibration_is_compared(
    calibrated: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = freeze(str(calibrated[0]), tmp_path / "b", calibration=calibrated[1])[1]
    assert forge_every_field(folder, {"calibration"}, monkeypatch) > 20
