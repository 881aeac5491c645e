"""The model card: made of the lock alone, and no figure in it that the lock does not hold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import toy

from sma_gpu import Dials
from sma_gpu.answers.adapter_bundle import freeze
from sma_gpu.answers.adapter_lock import CARD, LOCK, read_lock
from sma_gpu.answers.model_card import model_card
from sma_gpu.cli import main

WORDS_WITH_NUMBERS = re.compile(r"<[^>]*>|https?://\S+|in the first \d+|95%|PMID:\d+")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return freeze(str(toy.write(tmp_path / "sources")), tmp_path / "bundle")[1]


def changed(lock: dict[str, Any], part: str, **values: Any) -> dict[str, Any]:
    return {**lock, part: {**(lock[part] or {}), **values}}


def test_the_card_in_the_folder_is_the_one_that_is_printed(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["adapter", "card", str(bundle)]) == 0
    printed = capsys.readouterr().out
    assert printed == (bundle / CARD).read_text(encoding="utf-8") == model_card(read_lock(bundle / LOCK))


def test_every_figure_of_the_card_is_in_the_lock(bundle: Path) -> None:
    lock = read_lock(bundle / LOCK)
    held = json.dumps(lock)
    text = model_card(lock).split("Cite:")[0] + model_card(lock).split("## How it ranks")[1]
    for figure in re.findall(r"[0-9a-f]{64}|\d[\d,.]*\d|\d", WORDS_WITH_NUMBERS.sub("", text)):
        plain = figure.replace(",", "")
        percent = f"0.{plain.rstrip('0')}"  # rho 0.5 is also said as 50 %
        assert plain in held or percent in held or int(plain) == len(lock["probes"]["answers"]), figure


@pytest.mark.parametrize(
    ("part", "values", "words"),
    [
        ("ontology", {"version": "2030-01-01"}, "| ontology | hp 2030-01-01 |"),
        ("ontology", {"terms": 12345}, "12,345 terms"),
        ("ontology", {"sha256": "ab" * 32}, f"`{'ab' * 32}`"),
        ("records", {"count": 4321}, "4,321 diseases"),
        ("index", {"cases": 54321}, "Ranks 54,321 diseases"),
        ("index", {"set_aside": 99}, "with no term to match on: 99 records"),
        ("index", {"fingerprint": "cd" * 32}, f"| index | `{'cd' * 32}` |"),
        ("dials", Dials.adapter_v1().as_dict(), "**scorer surprisal**"),
        ("scorer", {"package": "theirs", "version": "7.8"}, "the package `theirs` 7.8"),
        ("mappings", {"version": "m1", "sha256": "ef" * 32, "mapped": 8, "groups": 4}, "| mappings | m1 | 4 groups of"),
        ("made_with", {"sma_gpu": "8.8.8"}, "sma_gpu 8.8.8"),
    ],
)
def test_the_card_says_what_the_lock_says(part: str, values: dict[str, Any], words: str, bundle: Path) -> None:
    lock = read_lock(bundle / LOCK)
    assert words not in model_card(lock)
    assert words in model_card(changed(lock, part, **values))


def test_it_names_licences_citation_and_notice(bundle: Path) -> None:
    card = model_card(read_lock(bundle / LOCK))
    assert card.count("HPO licence: free use with citation") == 2
    assert "Cite: Gargano MA et al." in card
    assert "**For research. This is not a medical device" in card
    assert "bundled" not in card


def test_records_of_ones_own_have_no_licence_of_the_domain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cases.tsv").write_text("id\tterms\nA\tHP:9910110\nB\tHP:9920100|HP:9930100\n")
    sources = toy.write(tmp_path / "sources")
    own = tmp_path / "own"
    assert main(["index", str(sources / "hp.obo"), str(tmp_path / "cases.tsv"), "-o", str(own)]) == 0
    assert main(["adapter", "freeze", str(own)]) == 0
    card = (own / CARD).read_text()
    assert card.count("HPO licence") == 1 and "not known here: that of its owner" in card
    assert main(["cite", str(own), "--json"]) == 0
    cited = json.loads(capsys.readouterr().out.split("ID ...\n")[-1])
    assert [source["licence"][:3] for source in cited["sources"]] == ["HPO", ""]


def test_it_says_what_was_not_measured_and_that_nothing_is_calibrated(bundle: Path) -> None:
    card = model_card(read_lock(bundle / LOCK))
    assert "Not measured: no evaluation was given" in card
    assert "Not calibrated: confidence is the share of the query that a hit explains" in card
    assert "- Not measured: its accuracy; how often a hit of some confidence is right;" in card


def test_the_figures_are_those_of_the_evaluation(bundle: Path, tmp_path: Path) -> None:
    lines = [{"id": key, "observed": terms[:1], "gold": [key]} for key, (_, terms) in toy.DISEASES.items()]
    (tmp_path / "solved.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    measured = tmp_path / "evaluation.json"
    assert main(["evaluate", str(bundle), str(tmp_path / "solved.jsonl"), "--json", "-o", str(measured)]) == 0
    freeze(str(bundle), evaluation=measured)
    card, found = (bundle / CARD).read_text(), json.loads(measured.read_text())
    assert "6 cases ranked" in card and f"`{found['input']['sha256']}`" in card
    whole = found["slices"][0]["strict"]
    for measure, words in (("top1", "right one first"), ("top5", "in the first 5"), ("mrr", "reciprocal rank")):
        cells = [f"{whole[ties][measure]['value']:.3f} (" for ties in ("mean", "optimistic", "pessimistic")]
        row = next(line for line in card.splitlines() if words in line)
        assert [cell.strip()[:7] for cell in row.split("|")[4:7]] == cells
    assert whole["mean"]["top1"]["value"] < 1
    assert "Not measured: no evaluation" not in card


def test_the_sample_is_called_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SMA_GPU_DATA", raising=False)
    lock, folder = freeze("legal", tmp_path / "legal")
    card = (folder / CARD).read_text()
    assert lock["sample"] is True and "**Its ontology is the small sample that is bundled for legal**" in card
    assert "sma-gpu query FOLDER G06F3/0412 D03D1/0088" in card


HOSTILE = "a|b`c <img src=x> [x](http://evil)\n# *_y_* &lt; \\"


@pytest.mark.parametrize("part", ["ontology", "records"])
@pytest.mark.parametrize("name", ["name", "version"])
def test_names_out_of_files_are_text_and_no_markdown(part: str, name: str, bundle: Path) -> None:
    card = model_card(changed(read_lock(bundle / LOCK), part, **{name: HOSTILE}))
    row = next(line for line in card.splitlines() if line.startswith(f"| {part} |"))
    assert r"a\|b\`c \<img src=x\> \[x\](http://evil) \# \*\_y\_\* \&lt; \\" in row
    assert row.replace(r"\|", "").count("|") == 6
    assert len(card.splitlines()) == len(model_card(read_lock(bundle / LOCK)).splitlines())


def test_a_word_for_records_is_text_and_a_selection_is_code(bundle: Path) -> None:
    lock = {**read_lock(bundle / LOCK), "entity": "pa`tient <b>"}
    card = model_card(changed(lock, "records", selection="a`b``c"))
    assert r"# Model card: pa\`tient \<b\>s by" in card
    assert "selected by ``` a`b``c ```" in card
    assert not re.search(r"(?<!\\)<(?!https)", card)
