"""The page of a cohort: one file for some cases, an index with pages beside it for many, written as answers come."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterable, Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest
import toy
from pages import Element, check_page

from sma_gpu import Engine, open_engine
from sma_gpu.answers.batch import answer_lines
from sma_gpu.answers.formats import TableForm, write_table_forms
from sma_gpu.answers.pages import cohort
from sma_gpu.answers.tsv import empty_answer, head_of
from sma_gpu.cli import main
from sma_gpu.ontologies.records.patients import read_patients

LONG = ["HP:9910110", "HP:9920100", "HP:9930100"]
ASKED: list[Any] = [LONG, ["HP:9920200"], ["HP:0000001"], ["HP:9930100", "HP:9910900", "HP:1"], 7, LONG]
HOSTILE = "<script>alert(1)</script>\"'>&\u202e"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(toy.write(tmp_path_factory.mktemp("data")))


@pytest.fixture(scope="module")
def engine(folder: str) -> Engine:
    return open_engine(folder)


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"id": f"p{i}", "observed": terms}) + "\n" for i, terms in enumerate(ASKED)))
    return path


@pytest.fixture
def lines(engine: Engine, patients: Path) -> list[dict[str, Any]]:
    return list(answer_lines(engine, read_patients(str(patients)).records, 4))


def write(engine: Engine, lines: Iterable[Mapping[str, Any]], place: Path) -> str:
    form = TableForm(head_of(empty_answer(engine, None), k=4), "disease", title="Toy", notice="For tests alone.")
    write_table_forms(lines, {"html": place}, form)
    return place.read_text(encoding="utf-8")


def figures(root: Element) -> dict[str, str]:
    """Returns the figures of the first list of them on a page."""
    entries = root.all("dl", class_="facts")[0].all("div")
    return {entry.all("dt")[0].text: entry.all("dd")[0].text for entry in entries}


def test_a_cohort_in_one_file_has_a_row_and_a_section_for_each_case(
    engine: Engine, lines: list[dict[str, Any]], tmp_path: Path
) -> None:
    root = check_page(write(engine, lines, tmp_path / "c.html"))
    tied = sum(line["hits"][0]["ties"] > 0 for line in lines if line.get("hits"))
    assert tied
    assert figures(root) == {"answered": "4", "abstained": "1", "failed": "1", "first hit tied": str(tied)}
    [table] = root.all("table", id="cases")
    rows = table.all("tr")[1:]
    assert [row.all("th")[0].text for row in rows] == [f"p{i}" for i in range(6)]
    assert [row.all("a")[0].attributes["href"] for row in rows] == [f"#c{i}" for i in range(1, 7)]
    sections = root.all("details", class_="case")
    assert [section.attributes["id"] for section in sections] == [f"c{i}" for i in range(1, 7)]
    for line, row, section in zip(lines, rows, sections, strict=True):
        if "error" in line:
            assert line["error"]["found"] in row.text and line["error"]["do"] in section.text
        elif line["abstained"]:
            assert line["reason"] in row.text and line["reason"] in section.text
        else:
            assert line["hits"][0]["key"] in row.text
            for hit in line["hits"]:
                assert hit["key"] in section.text
            for left in line["query"]["left_out"]:
                assert left["why"] in section.text
    assert not (tmp_path / "c_cases").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.html", "in.jsonl"]


def test_reasons_for_no_answer_are_counted(engine: Engine, lines: list[dict[str, Any]], tmp_path: Path) -> None:
    abstained = next(line for line in lines if line.get("abstained"))
    many = [{"id": f"e{i}", "error": {"asked": "a", "found": f"reason {i}", "do": "d"}} for i in range(20)]
    text = (
        check_page(write(engine, [abstained, abstained, *many], tmp_path / "c.html"))
        .all("section", class_="card")[0]
        .text
    )
    assert f"{abstained['reason']}2" in text
    assert "9 cases more for 9 other reasons" in text


def test_many_cases_make_an_index_and_pages_that_lead_to_one_another(
    engine: Engine, lines: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cohort, "WHOLE", 5)
    monkeypatch.setattr(cohort, "PER_PAGE", 2)
    place = tmp_path / "big cohort.html"
    root = check_page(write(engine, [*lines, lines[0]], place), siblings=("big%20cohort_cases/",))
    assert "stand on pages of 2 each" in root.text
    assert root.all("details", class_="case") == []
    addresses = [a.attributes["href"] or "" for a in root.all("table", id="cases")[0].all("a")]
    folder = tmp_path / "big cohort_cases"
    pages = sorted(path.name for path in folder.iterdir())
    assert pages == [f"cases-{i:04d}.html" for i in range(1, 5)]
    seen: list[str] = []
    for number, name in enumerate(pages, 1):
        page = check_page((folder / name).read_text(encoding="utf-8"), siblings=("../big%20cohort.html", "cases-"))
        seen += [f"big%20cohort_cases/{name}#{s.attributes['id']}" for s in page.all("details", class_="case")]
        beside = [a.attributes["href"] for a in page.all("nav")[0].all("a")]
        for neighbour in (number - 1, number + 1):
            assert (f"cases-{neighbour:04d}.html" in beside) == (1 <= neighbour <= 4)
        assert "For tests alone." in page.text
    assert seen == addresses


def test_pages_of_an_earlier_and_larger_cohort_go_and_nothing_else_does(
    engine: Engine, lines: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cohort, "WHOLE", 2)
    monkeypatch.setattr(cohort, "PER_PAGE", 2)
    place, folder = tmp_path / "c.html", tmp_path / "c_cases"
    write(engine, lines, place)
    (folder / "notes.txt").write_text("mine")
    write(engine, lines[:3], place)
    assert sorted(path.name for path in folder.iterdir()) == ["cases-0001.html", "cases-0002.html", "notes.txt"]
    write(engine, lines[:1], place)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    (folder / "notes.txt").unlink()
    write(engine, lines[:1], place)
    assert not folder.exists()


def test_hostile_ids_and_names_stay_text(engine: Engine, lines: list[dict[str, Any]], tmp_path: Path) -> None:
    for line in lines:
        line["id"] += HOSTILE
        for hit in line.get("hits", ()):
            hit["name"] += HOSTILE
        if "names" in line:
            line["names"] = {term: name + HOSTILE for term, name in line["names"].items()}
        if "error" in line:
            line["error"] = {part: words + HOSTILE for part, words in line["error"].items()}
    text = write(engine, lines, tmp_path / "c.html")
    root = check_page(text)
    assert [script.text for script in root.all("script")] == [cohort.COHORT_SCRIPT]
    assert "\u202e" not in text
    assert "<script>alert(1)</script>" in root.text


def test_pages_do_not_depend_on_what_was_there(engine: Engine, lines: list[dict[str, Any]], tmp_path: Path) -> None:
    assert write(engine, lines, tmp_path / "a.html") == write(engine, iter(lines), tmp_path / "b.html")


def test_distributions_are_drawn_over_all_cases(engine: Engine, lines: list[dict[str, Any]], tmp_path: Path) -> None:
    root = check_page(write(engine, lines * 3, tmp_path / "c.html"))
    drawn = root.all("figure")
    assert [figure.all("title")[0].text.rsplit(", of ", 1)[1] for figure in drawn] == [
        "12 cases",
        "15 cases",
        "12 cases",
    ]
    for figure in drawn:
        counts = [int(word.text) for word in figure.all("text", class_="small") if word.text.isdigit()]
        assert f"of {sum(counts)} cases" in figure.text


def test_memory_does_not_grow_with_the_sections(
    engine: Engine, lines: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cohort, "WHOLE", 50)
    answered = {**lines[0], "notes": ["long " * 4000]}  # the table says nothing of it

    def peak(cases: int) -> int:
        tracemalloc.start()
        write(engine, (answered for _ in range(cases)), tmp_path / f"{cases}.html")
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(60)
    assert (peak(260) - peak(60)) / 200 < 5_000


def test_a_batch_writes_several_forms_and_its_page_says_what_the_lines_say(
    folder: str, patients: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = ["batch", folder, str(patients), "-k", "4", "-o", str(out)]
    assert main([*words, "-f", "jsonl,html"]) == 4
    first = out.with_suffix(".html").read_bytes()
    root = check_page(first.decode())
    lines = [json.loads(line) for line in out.with_suffix(".jsonl").read_text().splitlines()]
    assert [row.all("th")[0].text for row in root.all("table", id="cases")[0].all("tr")[1:]] == [
        line["id"] for line in lines
    ]
    assert main([*words, "-f", "jsonl,html"]) == 4  # goes on where it stopped: nothing changes
    assert out.with_suffix(".html").read_bytes() == first
    alone = tmp_path / "alone.html"
    assert main(["batch", folder, str(patients), "-k", "4", "-f", "html", "-o", str(alone)]) == 4
    assert alone.read_bytes() == first
    assert not alone.with_name("alone.html.lines").exists()


def test_the_page_of_a_batch_needs_a_file(folder: str, patients: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["batch", folder, str(patients), "-f", "html"]) == 2
    assert "Name a file with -o" in capsys.readouterr().err


def test_query_explain_and_compare_give_pages(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", folder, *LONG, "-f", "html"]) == 0
    text = capsys.readouterr().out
    assert len(check_page(text).all("article")) > 1
    assert main(["query", folder, *LONG, "-f", "html,json", "-o", str(tmp_path / "q")]) == 0
    assert (tmp_path / "q.html").read_text(encoding="utf-8") == text
    assert json.loads((tmp_path / "q.json").read_text())["hits"]
    assert main(["explain", folder, "OMIM:990005", *LONG, "-f", "html"]) == 0
    assert len(check_page(capsys.readouterr().out).all("article")) == 1
    assert main(["compare", folder, "OMIM:990001", "OMIM:990004", "-f", "html", "-o", str(tmp_path / "c.html")]) == 0
    check_page((tmp_path / "c.html").read_text(encoding="utf-8"))


def test_an_analogy_gives_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    with as_file(files("sma_gpu.ontologies") / "samples" / "analogy") as folder:
        words = [str(folder / name) for name in ("water.case", "heat.case")]
        assert main(["align", *words, "--lattice", str(folder / "flow.lattice"), "-f", "html"]) == 0
    root = check_page(capsys.readouterr().out)
    assert root.all("figure")[0].all("svg")
    assert "water" in root.all("pre")[0].text


def test_what_a_rule_withholds_has_one_reason_and_keeps_its_confidences(
    engine: Engine, lines: list[dict[str, Any]], tmp_path: Path
) -> None:
    calibration = {"queries": 60, "method": "logistic", "places": 10}
    held = []
    for place, line in enumerate(line for line in lines if line.get("hits")):
        rule = {"rule": "youden", "words": "answers from 0.9 on", "best_confidence": 0.25 + place / 10}
        reason = f"not sure enough: {line['hits'][0]['key']} has {rule['best_confidence']}; the rule {rule['words']}"
        more = {"abstained": True, "reason": reason, "hits": [], "calibration": calibration}
        held.append({**line, **more, "threshold": {**rule, "answered": False}})
    unusable = {**next(line for line in lines if line.get("abstained")), "threshold": {"best_confidence": 0.0}}
    root = check_page(write(engine, [*held, unusable], tmp_path / "c.html"))
    card, [table] = root.all("section", class_="card")[0], root.all("table", id="cases")
    assert f"not sure enough: the rule answers from 0.9 on{len(held)}" in card.text
    assert f"Confidence of the first hit, of {len(held)} cases" in card.text
    rows = table.all("tr")[1:]
    assert ["25\u00a0%" in rows[0].text, "not sure enough" in rows[0].text, "0.9" in rows[0].text] == [
        True,
        True,
        False,
    ]
    assert held[0]["reason"] in root.all("details", class_="case")[0].text
    assert unusable["reason"] in rows[-1].text and "0\u00a0%" not in rows[-1].all("td")[1].text


def test_a_cohort_without_a_case_says_so_and_claims_nothing(engine: Engine, tmp_path: Path) -> None:
    root = check_page(write(engine, [], tmp_path / "c.html"))
    assert "The input holds no case." in root.text
    assert not root.all("table", id="cases") and not root.all("script") and "alibrated" not in root.text
