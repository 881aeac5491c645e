"""Dials chosen by solved cases: never judged on cases that had a part in the choice."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_medicine import write_small

from sma_gpu import Dials, Engine, open_engine
from sma_gpu.answers import tuning
from sma_gpu.answers.evaluation import CaseRank, Place
from sma_gpu.answers.evaluation_text import tuning_text
from sma_gpu.answers.solved import SolvedCases, read_solved
from sma_gpu.answers.tuning import candidates, tune
from sma_gpu.cli import main
from sma_gpu.errors import CalibrationError, QueryError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def engine(folder: Path) -> Engine:
    return open_engine(str(folder), Dials())


def records(count: int = 40, **fields: Any) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    return [
        {
            "id": f"q{n}",
            "observed": [f"HP:99{t:05d}" for t in rng.choice(58, 4, replace=False).tolist()],
            "gold": [f"OMIM:99{n % 20:04d}"],
            **fields,
        }
        for n in range(count)
    ]


def solved(engine: Engine, given: list[dict[str, Any]]) -> SolvedCases:
    return read_solved(engine, "-", stdin=io.BytesIO("\n".join(map(json.dumps, given)).encode()))


def test_the_dials_at_hand_come_first_and_each_dials_once() -> None:
    for own in (Dials(), Dials.evidence(), Dials(rho=0.123)):
        tried = candidates(own)
        assert tried[0] == own
        assert len(set(tried)) == len(tried)
    assert {d.rho for d in candidates(Dials())} == {0.5, 0.95}
    assert {d.normalisation for d in candidates(Dials())} == {"power(0)", "power(0.25)", "power(0.5)", "max"}


def test_a_figure_is_of_folds_that_had_no_part_in_the_choice(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate that is best on all but the fold at hand, and wrong in that fold, must show up as a loss."""
    cases = solved(engine, records(10)).cases
    number = {case.id: at for at, case in enumerate(cases)}
    tried = candidates(engine.index.dials)

    def ranks(under: Engine, asked: tuple[Any, ...], *_: Any, **__: Any) -> list[CaseRank]:
        row = tried.index(under.index.dials)
        # Dials at hand: all second. The next two: each right on one half of the cases, wrong on the other.
        first = {0: lambda n: 2, 1: lambda n: 1 if n % 2 else 9, 2: lambda n: 9 if n % 2 else 1}.get(row, lambda n: 9)
        return [CaseRank(Place(p, p, 1, 1), None, 0, None) for p in (first(number[case.id]) for case in asked)]

    monkeypatch.setattr(tuning, "rank_cases", ranks)
    monkeypatch.setattr(tuning, "grouped_folds", lambda groups, folds, seed: np.arange(10) % 2)
    found = tune(engine, solved(engine, records(10)), folds=2)
    assert [fold["dials"] for fold in found["by_fold"]] == [tried[1].as_dict(), tried[2].as_dict()]
    assert found["held_out"] == pytest.approx(1 / 9)  # each chosen where it shines, judged where it does not
    assert found["held_out_before"] == pytest.approx(1 / 2)
    assert found["gain"]["value"] == pytest.approx(1 / 9 - 1 / 2)
    assert found["candidates"][1]["mean"] == pytest.approx((1 + 1 / 9) / 2)
    assert not found["is_better"]
    assert any("holds 0" in note for note in found["notes"])


def test_tuning_is_the_same_again_and_seen_cases_take_no_part(engine: Engine) -> None:
    cases = solved(engine, records())
    one, two = (tune(engine, cases, metric="top10", seed=3) for _ in range(2))
    assert one == two
    assert json.loads(json.dumps(one)) == one
    assert sum(fold["cases"] for fold in one["by_fold"]) == one["cases"] == 40
    assert one["entities"] == 20
    assert any("40 cases are few" in note for note in one["notes"])
    mixed = solved(engine, [*records(), {**records(1)[0], "id": "seen", "publications": ["PMID:990"]}])
    found = tune(engine, mixed, metric="top10", seed=3)
    assert found["overlap_left_out"] == 1
    assert found["candidates"] == one["candidates"]
    text = tuning_text(found)
    assert "Dials tried on 40 cases" in text
    assert "1 cases that overlap the index took no part" in text


def test_what_cannot_be_tuned_is_refused(engine: Engine) -> None:
    with pytest.raises(QueryError, match="no such metric"):
        tune(engine, solved(engine, records(4)), metric="auc")
    with pytest.raises(CalibrationError, match="3 groups"):
        tune(engine, solved(engine, records(3)))


def test_the_chosen_dials_can_be_asked_with(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases, out = tmp_path / "cases.jsonl", tmp_path / "tuned.json"
    cases.write_text("\n".join(map(json.dumps, records())))
    assert main(["evaluate", str(folder), str(cases), "--tune", str(out), "--folds", "3"]) == 0
    assert "what choosing so is worth: mrr" in capsys.readouterr().out
    chosen = json.loads(out.read_text())
    assert (chosen["schema"], chosen["folds"]) == ("sma-gpu/tuning/1", 3)
    assert main(["query", str(folder), "HP:9900004", "--dials", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dials"] == chosen["dials"]
    inline = " " * 300 + json.dumps(chosen["dials"])  # longer than a file may be called
    assert main(["query", str(folder), "HP:9900004", "--dials", inline, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dials"] == chosen["dials"]
    out.write_text("nonsense")
    assert main(["query", str(folder), "HP:9900004", "--dials", str(out)]) == 2
    assert "a file with one" in capsys.readouterr().err
