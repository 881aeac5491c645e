"""A batch against an earlier one: what moved, and through what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import toy

from sma_gpu.answers.comparison_lines import read_earlier
from sma_gpu.cli import main
from sma_gpu.errors import ParseError

ASKED = {
    "p0": ["HP:9910110", "HP:9920100"],
    "p1": ["HP:9920200", "HP:9910200"],
    "p2": ["HP:9910900"],
    "p3": ["HP:9930100"],
    "p4": ["HP:0000001"],
}


class Bench:
    """A folder with a domain and an earlier batch over it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.domain = toy.write(folder / "data")
        self.input = folder / "in.jsonl"
        self.old = folder / "old.jsonl"
        self.ask(ASKED)
        self.run("-o", str(self.old))

    def ask(self, asked: dict[str, Any]) -> None:
        lines = (json.dumps({"id": name, "observed": terms}) + "\n" for name, terms in asked.items())
        self.input.write_text("".join(lines))

    def run(self, *words: str, code: int = 0) -> str:
        assert main(["batch", str(self.domain), str(self.input), *words]) == code
        return self.capsys.readouterr().out

    def begin_under_ic(self) -> None:
        self.run("-o", str(self.old), "--dials", "ic", "--overwrite")

    def compare(self, *words: str, code: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("--compare", str(self.old), "-f", "json", *words, code=code))
        assert found["schema"] == "sma-gpu/batch-comparison/1"
        assert found["same"] + found["scores_alone"] + found["moved"] == found["now"]["answers"] - len(
            found["only_now"]
        )
        assert len(found["queries"]) == found["moved"] == sum(entry["queries"] for entry in found["through"])
        return found

    def forget_the_run(self, **changes: Any) -> None:
        path = self.old.with_name("old.jsonl.run.json")
        told = json.loads(path.read_text())
        path.unlink()
        if changes:
            path.write_text(json.dumps({**told, **changes}))


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def rows(found: dict[str, Any]) -> dict[str, Any]:
    return {row["id"]: row for row in found["queries"]}


def other_records(bench: Bench) -> None:
    text = toy.hpoa().replace("OMIM:990001\tLong disease", "OMIM:990009\tNew disease")
    (bench.domain / "phenotype.hpoa").write_text(text)


def other_ontology(bench: Bench) -> None:
    (bench.domain / "hp.obo").write_text(toy.obo("2026-02-02").replace("alt_id: HP:9910900", "comment: none"))


def test_nothing_moves_where_nothing_differs(bench: Bench) -> None:
    found = bench.compare()
    assert (found["same"], found["moved"], found["differs"], found["code"]) == (5, 0, {}, "same")
    assert "nothing differs" in bench.run("--compare", str(bench.old))


def test_dials_alone_are_shown_to_have_moved_the_hits(bench: Bench) -> None:
    bench.begin_under_ic()
    found = bench.compare("--dials", "adapter-v1")
    assert list(found["differs"]) == ["dials"]
    assert "scorer ic -> surprisal" in found["differs"]["dials"][0]
    assert found["moved"] > 0
    assert found["through"] == [{"factors": ["dials"], "told_apart": True, "queries": found["moved"]}]
    assert {row["basis"] for row in found["queries"]} == {"under the earlier dials the hits are the earlier ones"}
    row = rows(found)["p2"]
    assert (row["top_earlier"], row["top_now"]) == ("OMIM:990001", "OMIM:990002")
    assert {"OMIM:990002", "OMIM:990001"} <= {move["key"] for move in row["moves"]}
    text = bench.run("--compare", str(bench.old), "--dials", "adapter-v1")
    assert "p2: OMIM:990001 -> OMIM:990002; through dials" in text


def test_records_alone_moved_the_hits(bench: Bench) -> None:
    other_records(bench)
    found = bench.compare()
    assert list(found["differs"]) == ["records"]
    row = rows(found)["p0"]
    assert (row["through"], row["told_apart"], row["basis"]) == (["records"], True, "nothing else differs")
    assert row["evidence"] == [{"factor": "records", "what": "OMIM:990001 Long disease is not among the records now"}]
    moves = {move["key"]: (move["earlier"], move["now"]) for move in row["moves"]}
    assert moves["OMIM:990001"] == (1, None)
    assert moves["OMIM:990009"][0] is None


def test_an_ontology_alone_moved_the_hits_and_how_it_reads_the_query(bench: Bench) -> None:
    other_ontology(bench)
    found = bench.compare()
    assert list(found["differs"]) == ["ontology"]
    row = rows(found)["p2"]
    assert (row["through"], row["told_apart"]) == (["ontology"], True)
    assert (row["status_earlier"], row["status_now"]) == ("hits", "abstained")
    assert row["evidence"] == [
        {"factor": "ontology", "what": "the query is read otherwise: without HP:9910100, with nothing"}
    ]


def test_what_differs_together_is_told_apart_as_far_as_it_can_be_tried(bench: Bench) -> None:
    (bench.domain / "phenotype.hpoa").write_text(toy.hpoa().replace("OMIM:990005\tHeart", "OMIM:990009\tNew"))
    found = bench.compare("--dials", "adapter-v1")
    assert sorted(found["differs"]) == ["dials", "records"]
    row = rows(found)["p3"]
    assert (row["through"], row["told_apart"]) == (["dials", "records"], True)
    assert row["basis"] == "under the earlier dials the hits are others again"
    by_dials = rows(found)["p1"]  # its hits have nothing to do with what changed
    assert (by_dials["through"], by_dials["told_apart"]) == (["dials"], True)
    other_ontology(bench)
    row = rows(bench.compare())["p3"]
    assert (row["through"], row["told_apart"]) == (["ontology", "records"], False)
    assert row["basis"] == "these differ together"
    assert "(not told apart)" in bench.run("--compare", str(bench.old))


def test_dials_that_make_no_difference_to_a_query_are_not_blamed(bench: Bench) -> None:
    bench.begin_under_ic()
    other_records(bench)
    found = bench.compare("--dials", '{"gamma": 0.5}')
    assert sorted(found["differs"]) == ["dials", "records"]
    row = rows(found)["p0"]
    assert (row["through"], row["told_apart"]) == (["records"], True)
    assert row["basis"] == "under the earlier dials the hits are those of now"


def test_code_is_named_where_nothing_else_is_left_and_never_guessed(bench: Bench) -> None:
    lines = [json.loads(line) for line in bench.old.read_text().splitlines()]
    lines[0]["hits"] = lines[0]["hits"][::-1]
    bench.old.write_text("".join(json.dumps(line) + "\n" for line in lines))
    row = rows(bench.compare())["p0"]
    assert (row["through"], row["told_apart"]) == (["code"], True)
    assert "the releases are called alike" in row["basis"]
    bench.forget_the_run(release="0.0.9")
    found = bench.compare()
    assert found["differs"]["code"] == ["0.0.9 -> 0.1.0"]
    assert rows(found)["p0"]["through"] == ["code"]
    other_records(bench)
    row = rows(bench.compare())["p0"]
    assert (row["through"], row["told_apart"]) == (["records", "code"], False)
    bench.forget_the_run()
    found = bench.compare()
    assert found["code"] == "unknown"
    row = rows(found)["p0"]
    assert (row["through"], row["told_apart"]) == (["records", "code"], False)
    assert "is not known" in row["basis"]
    assert "code: not known" in bench.run("--compare", str(bench.old))


def test_another_query_is_another_query(bench: Bench) -> None:
    bench.ask({**ASKED, "p1": ["HP:9930100"], "p9": ["HP:9930100"]})
    found = bench.compare()
    assert list(found["differs"]) == ["query"]
    assert (rows(found)["p1"]["through"], found["moved"]) == (["query"], 1)
    assert (found["only_earlier"], found["only_now"]) == ([], ["p9"])
    bench.ask({"p0": ASKED["p0"]})
    assert bench.compare()["only_earlier"] == ["p1", "p2", "p3", "p4"]
    assert "only in the earlier batch: p1, p2" in bench.run("--compare", str(bench.old))


def test_other_keys_are_other_options_also_where_they_are_as_many(bench: Bench) -> None:
    some = bench.folder / "some"
    some.write_text("OMIM:990001\nOMIM:990005\n")
    bench.run("--among", str(some), "-o", str(bench.old), "--overwrite")
    some.write_text("OMIM:990005\nOMIM:990001\n")
    assert bench.compare("--among", str(some))["differs"] == {}
    some.write_text("OMIM:990002\nOMIM:990005\n")
    found = bench.compare("--among", str(some))
    assert list(found["differs"]) == ["options"]
    assert found["moved"]
    assert {tuple(row["through"]) for row in found["queries"]} == {("options",)}
    bench.run("--among", str(some), "-o", str(bench.old), code=2)


def test_options_are_told_in_words(bench: Bench) -> None:
    text = bench.run("--compare", str(bench.old), "--inheritance", "HP:9940000", "--where", "source=OMIM")
    (line,) = [line for line in text.split("\n") if line.startswith("options: ")]
    assert line.startswith("options: none -> where source=OMIM, inheritance HP:9940000")
    assert "null" not in line


def test_another_selection_out_of_one_file_is_a_matter_of_records(tmp_path: Path, capsys: Any) -> None:
    asked, old, table = tmp_path / "in.jsonl", tmp_path / "old.jsonl", tmp_path / "table.tsv"
    asked.write_text('{"id": "a", "observed": ["HP:9910110"]}\n')
    toy.write(tmp_path / "data")
    table.write_text("who\tthen\tlater\nA\tHP:9910110\tHP:9930100\nB\tHP:9930100\tHP:9910110\n")

    def run(column: str, *words: str, code: int = 0) -> str:
        made = ["index", str(tmp_path / "data" / "hp.obo"), str(table), "-o", str(tmp_path / "mine")]
        assert main([*made, "--columns", "key=who", f"terms={column}"]) == 0
        capsys.readouterr()
        assert main(["batch", str(tmp_path / "mine"), str(asked), *words]) == code
        out: str = capsys.readouterr().out
        return out

    run("then", "-o", str(old))
    text = run("later", "--compare", str(old))
    assert "a: A -> B; through records: nothing else differs" in text
    run("later", "-o", str(old), code=2)  # goes on with no lines that were made of other records


def test_options_are_a_factor_of_their_own(bench: Bench) -> None:
    found = bench.compare("--where", "source=ORPHA")
    assert list(found["differs"]) == ["options"]
    assert {tuple(row["through"]) for row in found["queries"]} == {("options",)}


def test_fewer_places_are_no_move(bench: Bench) -> None:
    found = bench.compare("-k", "1")
    assert (found["places"], found["moved"]) == (1, 0)
    bench.run("-k", "1", "-o", str(bench.old), "--overwrite")
    found = bench.compare("-k", "5")
    assert (found["places"], found["moved"]) == (1, 0)


def test_other_scores_in_the_same_order_are_counted_apart(bench: Bench) -> None:
    bench.begin_under_ic()
    found = bench.compare("--dials", '{"rho": 0.9}')
    assert (found["moved"], found["scores_alone"]) == (0, 3)


def test_failed_records_are_compared_as_far_as_they_go(bench: Bench) -> None:
    bench.ask({**ASKED, "p0": 7})
    found = bench.compare(code=4)
    row = rows(found)["p0"]
    assert (row["status_earlier"], row["status_now"], row["told_apart"]) == ("hits", "error", False)


def test_the_answers_of_now_are_written_where_asked(bench: Bench) -> None:
    out = bench.folder / "new"
    compared = bench.compare("--dials", "adapter-v1")
    assert bench.compare("--dials", "adapter-v1", "-f", "json,jsonl,tsv", "-o", str(out)) == compared
    assert len((bench.folder / "new.jsonl").read_text().splitlines()) == 5
    assert (bench.folder / "new.tsv").exists()
    assert bench.compare("--dials", "adapter-v1", "-o", str(bench.folder / "one.jsonl")) == compared
    assert (bench.folder / "one.jsonl").read_bytes() == (bench.folder / "new.jsonl").read_bytes()


def test_what_cannot_be_compared_is_refused_in_words(bench: Bench) -> None:
    before = bench.old.read_bytes()
    for words, said in (
        (["-o", str(bench.old), "--overwrite"], "the answers to compare with"),
        (["-f", "tsv"], "standard output has the comparison"),
    ):
        assert main(["batch", str(bench.domain), str(bench.input), "--compare", str(bench.old), *words]) == 2
        assert said in bench.capsys.readouterr().err
    assert bench.old.read_bytes() == before
    assert main(["batch", "nowhere", "-", "--compare", str(bench.folder / "none.jsonl")]) == 3
    assert "none.jsonl: there is no such file" in bench.capsys.readouterr().err
    first = before.splitlines(keepends=True)[0]
    for text, said in ((b"{}\n", "line 1 is no answer"), (first + first, "line 2 has the id p0"), (b"x", "line 1")):
        bench.old.write_bytes(text)
        with pytest.raises(ParseError, match=said):
            read_earlier(bench.old)
