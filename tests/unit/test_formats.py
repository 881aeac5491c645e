"""Answers in several forms: what stands in a table, where each form goes, and how a batch of them goes on."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
import toy

from sma_gpu import Engine, open_engine
from sma_gpu.answers.batch import write_batch
from sma_gpu.answers.formats import TableForm, parse_forms, write_table_forms
from sma_gpu.answers.formats_parquet import need_parquet
from sma_gpu.answers.tsv import COLUMNS, columns_table, empty_answer, head_of, tsv_head, tsv_lines
from sma_gpu.cli import main
from sma_gpu.errors import DataMissing
from sma_gpu.ontologies.records.patients import read_patients

LONG = ["HP:9910110", "HP:9920100", "HP:9930100"]
NAMES = [column.name for column in COLUMNS]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "FORMATS.md"


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(toy.write(tmp_path / "data"))


@pytest.fixture
def engine(folder: str) -> Engine:
    return open_engine(folder)


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    asked: list[Any] = [LONG, ["HP:9920200"], ["HP:0000001"], ["HP:9930100", "HP:9910900", "HP:1"], 7]
    path.write_text("".join(json.dumps({"id": f"p{i}", "observed": terms}) + "\n" for i, terms in enumerate(asked)))
    return path


def read_tsv(text: str) -> tuple[dict[str, Any], list[dict[str, str]]]:
    lines = text.split("\n")
    assert lines.pop() == ""
    head = [line[2:].split(": ", 1) for line in lines if line.startswith("# ")]
    rows = lines[len(head) :]
    assert rows[0].split("\t") == NAMES
    return {name: json.loads(value) for name, value in head}, [
        dict(zip(NAMES, row.split("\t"), strict=True)) for row in rows[1:]
    ]


def test_a_row_says_exactly_what_the_answer_says(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["query", folder, *LONG, "HP:9910900", "HP:1", "--exclude", "HP:9910200", "-k", "4"]
    assert main([*words, "-f", "tsv"]) == 0
    head, rows = read_tsv(capsys.readouterr().out)
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(rows) == len(answer["hits"]) == 4
    for row, hit in zip(rows, answer["hits"], strict=True):
        assert row["status"] == "hit"
        for name in ("key", "name"):
            assert row[name] == hit[name]
        for name in ("rank", "rank_merged", "ties"):
            assert int(row[name]) == hit[name]
        for name in ("score_bits", "normalised", "explained", "confidence"):
            assert float(row[name]).hex() == float(hit[name]).hex()
        for name in ("mapping", "unexplained", "contradicted", "attributes"):
            assert json.loads(row[name]) == hit[name]
        assert json.loads(row["used"]) == [u["term"] for u in answer["query"]["used"] if not u["excluded"]]
        assert json.loads(row["excluded"]) == ["HP:9910200"]
        assert json.loads(row["left_out"]) == answer["query"]["left_out"]
        assert json.loads(row["changed"]) == answer["query"]["changed"]
        assert (row["certified"], int(row["aligned"])) == ("true", answer["aligned"])
    for name in ("dials", "dials_fingerprint", "ontology", "records", "notes", "backend"):
        assert head[name] == answer[name]
    assert head["k"] == 4
    assert head["format"] == "sma-gpu/hits/1"


def test_texts_and_numbers_come_back_as_they_went(engine: Engine) -> None:
    head = head_of(empty_answer(engine, None))
    answer = engine.query(LONG, k=1, query_id='a\tb\n"c\\d\r # é \ud800')
    third = 1 / 3
    answer["hits"][0] |= {"normalised": third, "name": "-0", "confidence": 1e-300, "explained": 5e-324}
    text = tsv_head(head) + tsv_lines(answer, head)
    row = read_tsv(text)[1][0]
    assert row["query"] == 'a\\tb\\n"c\\\\d\\r # é \\\\ud800'
    assert float(row["normalised"]) == third
    assert (float(row["confidence"]), float(row["explained"])) == (1e-300, 5e-324)
    assert row["notes"] == "[]"


def test_no_query_is_lost(engine: Engine) -> None:
    head = head_of(empty_answer(engine, None))
    abstained = engine.query(["HP:0000001"], query_id="root")
    failed = {"id": "bad", "error": {"asked": "x", "found": "y", "do": "Z."}}
    rows = read_tsv(tsv_head(head) + tsv_lines(abstained, head) + tsv_lines(failed, head))[1]
    assert [(row["query"], row["status"], row["rank"], row["key"]) for row in rows] == [
        ("root", "abstained", "", ""),
        ("bad", "error", "", ""),
    ]
    assert rows[0]["reason"] == abstained["reason"]
    assert rows[1]["reason"] == "x: y. Z."


def test_the_head_of_a_batch_is_that_of_each_of_its_answers(engine: Engine) -> None:
    restriction = engine.restrict(["OMIM:990001", "OMIM:990002"])
    head = head_of(empty_answer(engine, restriction), k=3, sha256="0" * 64)
    of_one = head_of(engine.query(LONG, k=3, among=["OMIM:990001", "OMIM:990002"]), k=3, sha256="0" * 64)
    assert head == of_one
    assert head["restriction"]["among"] == 2


def test_genes_have_a_row_each(engine: Engine) -> None:
    head = head_of(empty_answer(engine, None))
    answer = engine.query(LONG, k=2)
    keys = [hit["key"] for hit in answer["hits"]]
    answer["genes"] = [
        {"key": "NCBIGene:1", "symbol": "AAA", "rank": 1, "case": keys[1], "with": 1},
        {"key": "NCBIGene:2", "symbol": "BBB", "rank": 2, "case": keys[1], "with": 1},
        {"key": "NCBIGene:3", "symbol": "CCC", "rank": 3, "case": keys[0], "with": 0},
    ]
    rows = read_tsv(tsv_head(head) + tsv_lines(answer, head))[1]
    assert [(row["gene_rank"], row["gene_symbol"], row["key"]) for row in rows] == [
        ("1", "AAA", keys[1]),
        ("2", "BBB", keys[1]),
        ("3", "CCC", keys[0]),
    ]


def test_several_forms_go_to_files_of_their_own(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "ranked"
    assert main(["query", folder, *LONG, "-f", "json,jsonl,tsv,text", "-o", str(out)]) == 0
    assert capsys.readouterr().out == ""
    for form, suffix in {"json": "json", "jsonl": "jsonl", "tsv": "tsv", "text": "txt"}.items():
        assert main(["query", folder, *LONG, "-f", form]) == 0
        assert Path(f"{out}.{suffix}").read_text() == capsys.readouterr().out
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "data", "ranked.json", "ranked.jsonl", "ranked.tsv", "ranked.txt",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["-f", "jsonl,tsv"], 2, "standard output takes one form alone"),
        (["-f", "parquet"], 2, "Parquet is no text"),
        (["-f", "jsonl,xml"], 2, "'xml' is none of"),
        (["-f", ""], 2, "'' is none of"),
    ],
)
def test_forms_that_cannot_be_are_refused_before_any_work(
    folder: str, patients: Path, words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["query", "no-such-domain", *LONG], ["batch", "no-such-domain", str(patients)]):
        with contextlib.ExitStack() as stack:
            if "is none of" in said:  # the parser itself stops
                stack.enter_context(pytest.raises(SystemExit))
            assert main([*command, *words]) == code
        assert said in capsys.readouterr().err


def test_a_form_is_taken_once() -> None:
    assert parse_forms("tsv, jsonl,tsv", ("tsv", "jsonl")) == ("tsv", "jsonl")


def test_a_batch_in_several_forms_says_the_same_in_each(
    folder: str, patients: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "ranked"
    assert main(["batch", folder, str(patients), "-k", "2", "-f", "jsonl,tsv,text", "-o", str(out)]) == 4
    capsys.readouterr()
    for form, suffix in {"jsonl": "jsonl", "tsv": "tsv", "text": "txt"}.items():
        assert main(["batch", folder, str(patients), "-k", "2", "-f", form]) == 4
        assert Path(f"{out}.{suffix}").read_text() == capsys.readouterr().out
    head, rows = read_tsv(Path(f"{out}.tsv").read_text())
    assert head["input"] == read_patients(str(patients)).sha256
    lines = [json.loads(line) for line in Path(f"{out}.jsonl").read_text().splitlines()]
    listed = [(line["id"], hit["key"]) for line in lines for hit in line.get("hits") or [{"key": ""}]]
    assert [(row["query"], row["key"]) for row in rows] == listed
    assert {row["status"] for row in rows} == {"hit", "abstained", "error"}
    assert "== p0\n" in Path(f"{out}.txt").read_text()


def test_other_forms_are_made_of_the_lines_once_these_are_complete(
    folder: str, patients: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "ranked.tsv"
    words = ["batch", folder, str(patients), "-k", "2", "-f", "tsv", "-o", str(out)]
    assert main(words) == 4
    whole = out.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data", "in.jsonl", "ranked.tsv"]
    assert main(words) == 2
    assert "replace it with --overwrite" in capsys.readouterr().err
    assert main([*words, "--overwrite"]) == 4
    assert out.read_bytes() == whole
    out.unlink()

    class Killed(Exception):
        pass

    def kill() -> None:
        raise Killed

    given = read_patients(str(patients))
    lines = tmp_path / "ranked.tsv.lines"
    with pytest.raises(Killed):
        write_batch(open_engine(folder).for_batch(len(given.records)), given, 2, lines, progress=kill)
    assert len(lines.read_text().splitlines()) == 1
    assert main(words) == 4
    assert out.read_bytes() == whole
    assert not lines.exists()
    assert not (tmp_path / "ranked.tsv.lines.run.json").exists()


def test_an_interrupted_batch_in_several_forms_ends_with_the_same_bytes(
    folder: str, patients: Path, tmp_path: Path
) -> None:
    words = ["batch", folder, str(patients), "-f", "tsv,jsonl", "-o"]
    assert main([*words, str(tmp_path / "a")]) == main([*words, str(tmp_path / "b")]) == 4
    lines = (tmp_path / "b.jsonl").read_bytes()
    (tmp_path / "b.jsonl").write_bytes(lines[: len(lines) // 2])
    (tmp_path / "b.tsv").unlink()
    assert main([*words, str(tmp_path / "b")]) == 4
    for suffix in ("jsonl", "tsv"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_an_input_is_never_written_over(folder: str, patients: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = patients.read_bytes()
    words = ["batch", folder, str(patients), "-f", "jsonl,tsv", "--overwrite", "-o", str(patients.with_suffix(""))]
    assert main(words) == 2
    assert "that is the input itself" in capsys.readouterr().err
    assert patients.read_bytes() == before


@pytest.mark.parametrize("form", ["tsv", "text"])
def test_an_input_named_like_a_file_that_is_written_aside_stays(
    folder: str, patients: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    given, other = tmp_path / "ranked.part", tmp_path / "other.jsonl"
    given.write_bytes(patients.read_bytes())
    assert main(["batch", folder, str(given), "-f", form, "-o", str(tmp_path / "ranked")]) == 2
    assert "that is the input itself, or a batch there would write over the input" in capsys.readouterr().err
    assert given.read_bytes() == patients.read_bytes()
    assert main(["batch", folder, str(patients), "-o", str(other)]) == 4
    earlier = other.read_bytes()
    given.write_bytes(earlier)
    words = ["batch", folder, str(patients), "--compare", str(given), "-f", form, "-o", str(tmp_path / "ranked")]
    assert main(words) == 2  # under --compare, text is a form of the comparison, and the answers are lines of JSON
    assert "the answers to compare with" in capsys.readouterr().err
    assert given.read_bytes() == earlier


def test_parquet_has_the_columns_of_tsv_with_their_types(folder: str, patients: Path, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow writes Parquet")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow writes Parquet")
    out = tmp_path / "ranked"
    assert main(["batch", folder, str(patients), "-k", "2", "-f", "parquet,tsv,jsonl", "-o", str(out)]) == 4
    table = parquet.read_table(f"{out}.parquet")
    head, rows = read_tsv(Path(f"{out}.tsv").read_text())
    told = json.loads(table.schema.metadata[b"sma-gpu"])
    assert {name: value for name, value in told.items() if value is not None} == head
    assert table.column_names == NAMES
    kinds = {
        "text": arrow.string(), "json": arrow.string(), "integer": arrow.int64(), "number": arrow.float64(),
        "truth": arrow.bool_(),
    }  # fmt: skip
    assert table.schema.types == [kinds[column.kind] for column in COLUMNS]
    assert table.num_rows == len(rows)
    for found, row in zip(table.to_pylist(), rows, strict=True):
        for column in COLUMNS:
            value, text = found[column.name], row[column.name]
            if value is None:
                assert text == ""
            elif column.kind == "number":
                assert value.hex() == float(text).hex()
            elif column.kind == "truth":
                assert str(value).lower() == text
            else:
                assert str(value) == text


def test_an_empty_batch_is_an_empty_table(folder: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow writes Parquet")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow writes Parquet")
    (tmp_path / "none.jsonl").write_text("\n")
    words = ["batch", folder, str(tmp_path / "none.jsonl"), "-f", "parquet,tsv", "-o", str(tmp_path / "out")]
    assert main(words) == 0
    assert parquet.read_table(str(tmp_path / "out.parquet")).num_rows == 0
    assert read_tsv((tmp_path / "out.tsv").read_text())[1] == []


def test_parquet_without_its_package_is_refused_with_the_line_that_installs_it(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert main(["query", folder, *LONG, "-f", "parquet", "-o", str(tmp_path / "x")]) == 3
    assert 'pip install "sma_gpu[frames]"' in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
    with pytest.raises(DataMissing):
        need_parquet("write")


def test_a_table_that_fails_midway_leaves_what_was_there(folder: str, tmp_path: Path) -> None:
    engine = open_engine(folder)
    place = tmp_path / "t.tsv"
    place.write_text("old")
    table = TableForm(head_of(empty_answer(engine, None)), "disease")

    def lines() -> Any:
        yield engine.query(LONG, k=1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_table_forms(lines(), {"tsv": place}, table)
    assert place.read_text() == "old"
    assert [p.name for p in tmp_path.glob("t.tsv*")] == ["t.tsv"]


def test_the_line_for_pandas_reads_a_table(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas reads the table")
    monkeypatch.chdir(tmp_path)
    assert main(["query", folder, *LONG, "-f", "tsv", "-o", "ranked.tsv", "-k", "3"]) == 0
    (line,) = [line.strip() for line in PAGE.read_text(encoding="utf-8").splitlines() if "pandas.read_csv" in line]
    table = eval(line, {"pandas": pandas})
    assert list(table.columns) == NAMES
    assert table["rank"].tolist() == [1, 2, 3]
    assert json.loads(table["mapping"][0])[0]["query"] == LONG[0]


def test_the_columns_are_documented() -> None:
    assert columns_table() in PAGE.read_text(encoding="utf-8")
    assert len(set(NAMES)) == len(NAMES)


def test_text_says_what_the_source_says_of_the_best_hit(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", folder, *LONG, "-k", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    wanted = "source OMIM; date 2026-01-01; reference PMID:990; evidence PCS; inheritance HP:9940000 Toy inheritance"
    assert lines.count(wanted) == 1
    title = next(line for line in lines if line.startswith("OMIM:990001 Long disease: rank 1"))
    assert lines.index(wanted) == lines.index(title) + 2


def test_many_values_of_an_attribute_are_counted(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = toy.hpoa().splitlines()
    rows += [row.replace("PMID:990", f"PMID:{n}") for n in range(1, 6) for row in rows if row.startswith("OMIM:990001")]
    (Path(folder) / "phenotype.hpoa").write_text("\n".join(rows) + "\n")
    assert main(["query", folder, *LONG, "-k", "1"]) == 0
    assert "reference PMID:990, PMID:1, PMID:2 and 3 more; evidence PCS" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["query"], ["explain", "OMIM:1"], ["batch"]])
def test_a_condition_that_is_none_is_refused_before_any_file_is_read(
    command: list[str], patients: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verb, *rest = command
    asked = [str(patients)] if verb == "batch" else [*rest, *LONG]
    assert main([verb, "no-such-domain", *asked, "--where", "date"]) == 2
    assert "it has no operator" in capsys.readouterr().err
