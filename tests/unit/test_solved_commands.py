"""The commands on solved cases, used carelessly: what they refuse at once, what they never write over, what stands."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_medicine import write_small

from sma_gpu import Dials, Engine, open_engine
from sma_gpu.answers.calibrating import calibrate, split_of
from sma_gpu.answers.evaluation import evaluate
from sma_gpu.answers.evaluation_text import evaluation_text
from sma_gpu.answers.solved import SolvedCases, read_solved
from sma_gpu.cli import main
from sma_gpu.errors import CalibrationError, QueryError
from sma_gpu.trust.asking import SignalSource

Record = dict[str, Any]
IC = ["--dials", "ic"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def engine(folder: Path) -> Engine:
    return open_engine(str(folder), Dials())


@pytest.fixture(scope="module")
def records(engine: Engine) -> list[Record]:
    """Cases whose first hit is right in some, and wrong in others."""
    rng, found = np.random.default_rng(4), []
    for n in range(24):
        own = engine.ids(engine.index.cases.functors_of(n))
        gold = engine.index.keys[n if n % 3 else n + 1]
        found.append({"id": f"q{n}", "observed": rng.choice(own, 4, replace=False).tolist(), "gold": [gold]})
    return found


def solved(engine: Engine, given: list[Record]) -> SolvedCases:
    return read_solved(engine, "-", stdin=io.BytesIO("\n".join(map(json.dumps, given)).encode()))


def written(records: list[Record], path: Path) -> str:
    path.write_text("\n".join(map(json.dumps, records)) + "\n")
    return str(path)


@pytest.fixture
def never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("the index was asked")

    monkeypatch.setattr(SignalSource, "of_queries", fail)


# Files


@pytest.mark.parametrize(
    "words", [["evaluate", "-o"], ["evaluate", "--calibrate"], ["evaluate", "--tune"], ["calibrate", "-o"]]
)
def test_solved_cases_are_never_written_over(
    folder: Path,
    records: list[Record],
    tmp_path: Path,
    words: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    split = Path(written(records, tmp_path / "split.jsonl"))
    (tmp_path / "link").symlink_to(split)
    before = split.read_bytes()
    for place in (str(split), str(tmp_path / "link"), str(tmp_path / "." / "split.jsonl")):
        assert main([words[0], str(folder), str(split), *IC, words[1], place]) == 2
        assert "would replace what is read" in capsys.readouterr().err
    for place, why in ((tmp_path, "that is a folder"), (tmp_path / "no" / "x", "there is no folder")):
        assert main([words[0], str(folder), str(split), *IC, words[1], str(place)]) == 2
        assert why in capsys.readouterr().err
    inside = tmp_path / "cases"
    inside.mkdir()
    written(records, inside / "a.jsonl")
    assert main([words[0], str(folder), str(inside), *IC, words[1], str(inside / "out.json")]) == 2
    assert "whose files are the input" in capsys.readouterr().err
    assert split.read_bytes() == before
    assert [path.name for path in inside.iterdir()] == ["a.jsonl"]


def test_one_file_is_not_written_twice_nor_over_the_calibration_in_use(
    folder: Path, records: list[Record], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    split, out = written(records, tmp_path / "split.jsonl"), tmp_path / "out.json"
    assert main(["evaluate", str(folder), split, *IC, "-o", str(out), "--tune", f"{tmp_path}/./out.json"]) == 2
    assert "named for two things" in capsys.readouterr().err
    assert not out.exists()
    out.write_text("{}")
    assert main(["evaluate", str(folder), split, *IC, "--calibration", str(out), "--calibrate", str(out)]) == 2
    assert "would replace what is read" in capsys.readouterr().err


# What cannot be done is refused before it is begun


@pytest.mark.usefixtures("never_asked")
def test_what_cannot_be_calibrated_is_refused_before_the_index_is_asked(engine: Engine, records: list[Record]) -> None:
    given = solved(engine, records)
    with pytest.raises(CalibrationError, match="19 solved cases: that is fewer than 20"):
        calibrate(engine, replace(given, cases=given.cases[:19]))
    with pytest.raises(CalibrationError, match="2 folds are fewer than 3"):
        calibrate(engine, given, folds=2)
    one = tuple(replace(case, publications=("PMID:1",)) for case in given.cases)
    with pytest.raises(CalibrationError, match=r"of 1 groups, fewer than 5 folds.*none is named\.$"):
        calibrate(engine, replace(given, cases=one))
    four = tuple(replace(case, publications=(f"PMID:{n % 4}",)) for n, case in enumerate(given.cases))
    with pytest.raises(CalibrationError, match="or ask for 4 folds"):
        calibrate(engine, replace(given, cases=four))
    with pytest.raises(CalibrationError, match="none of those left that can be asked has a right record"):
        calibrate(engine, solved(engine, [{**record, "gold": []} for record in records]))


@pytest.mark.usefixtures("never_asked")
def test_an_evaluation_that_could_not_calibrate_is_not_begun(
    folder: Path, records: list[Record], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    split = written(records[:5], tmp_path / "split.jsonl")
    assert main(["evaluate", str(folder), split, *IC, "--calibrate", str(tmp_path / "cal.json")]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "fewer than 20" in told.err


@pytest.mark.parametrize("how", ["--calibrate", "--tune"])
def test_an_evaluation_stands_where_what_follows_it_fails(
    folder: Path, engine: Engine, records: list[Record], tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    right = [{**record, "gold": [engine.query(record["observed"], k=1)["hits"][0]["key"]]} for record in records]
    split, extra, place = written(right, tmp_path / "right.jsonl"), tmp_path / "extra.json", tmp_path / "found.json"
    more = [] if how == "--calibrate" else ["--folds", "99"]
    words = ["evaluate", str(folder), split, *IC, how, str(extra), *more]
    assert main(words) == 2
    told = capsys.readouterr()
    assert told.out.startswith("24 solved cases of ")
    assert ("right in all of them" if how == "--calibrate" else "into 99 folds") in told.err
    assert main([*words, "--json", "-o", str(place)]) == 2
    assert json.loads(place.read_text())["counts"]["evaluated"] == 24
    assert not extra.exists()


def test_a_case_is_left_out_by_its_place_and_not_by_its_name(engine: Engine, records: list[Record]) -> None:
    own = engine.ids(engine.index.cases.functors_of(3))
    given = solved(engine, [*records, {"id": "copy", "observed": own, "gold": [engine.index.keys[3]]}])
    alike = tuple(replace(case, id="same") for case in given.cases)
    split = split_of(engine, replace(given, cases=alike), leave_out_overlap=True)
    assert len(split.cases) == 24
    assert split.left_out == {"they overlap the index": 1, "they have no usable term": 0}


# Words


def test_cases_that_are_all_new_give_no_empty_tables(engine: Engine, records: list[Record]) -> None:
    found = evaluate(engine, solved(engine, [{**record, "gold": []} for record in records]))
    text = evaluation_text(found)
    assert "24 more are known to be new" in text
    assert "mrr" not in text
    assert "Intervals" not in text
    assert not any("0 entities" in note for note in found["notes"])


def test_among_some_records_an_evaluation_says_that_confidence_is_a_guide(
    folder: Path, engine: Engine, records: list[Record]
) -> None:
    under = open_engine(str(folder), Dials(), calibration=calibrate(engine, solved(engine, records), folds=3))
    some = under.restrict(among=engine.index.keys[:20])
    given = solved(under, records[:5])
    assert any("a guide, no promise" in note for note in evaluate(under, given, some)["notes"])
    assert not any("a guide, no promise" in note for note in evaluate(under, given)["notes"])


def test_what_cannot_be_evaluated_is_told_in_whole_sentences(engine: Engine) -> None:
    with pytest.raises(QueryError, match=r"^evaluate -: it holds no record\. Give JSON lines"):
        solved(engine, [])
    with pytest.raises(QueryError, match="gold is a list of something else than keys"):
        solved(engine, [{"id": "a", "observed": ["HP:9900004"], "gold": [1, 2]}])
    with pytest.raises(QueryError, match=r"commas between them\. Give JSON lines"):
        read_solved(engine, "-", stdin=io.BytesIO(b'[{"id": "a"}]'))


# Calibrations that come from anywhere


@pytest.mark.parametrize(
    ("content", "why"), [("", "no calibration"), ("[" * 100_000, "no calibration"), ("{}", "no calibration")]
)
def test_a_file_that_is_no_calibration_is_named_and_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, why: str
) -> None:
    odd = tmp_path / "odd.json"
    odd.write_text(content)
    assert main(["query", str(folder), "HP:9900004", *IC, "--calibration", str(odd)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert f"sma-gpu: read the calibration {odd}: it is {why}. Give a file that sma-gpu calibrate wrote." in told.err


def test_a_mark_that_an_editor_put_before_a_calibration_changes_nothing(
    folder: Path, engine: Engine, records: list[Record], tmp_path: Path
) -> None:
    made, marked = calibrate(engine, solved(engine, records), folds=3), tmp_path / "marked.json"
    marked.write_text("\ufeff" + made.to_json() + "\r\n", encoding="utf-8")
    told = open_engine(str(folder), Dials(), calibration=marked).query(records[0]["observed"])
    assert told["calibration"]["fingerprint"] == made.fingerprint
