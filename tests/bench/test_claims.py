"""Claims: each judged by its rule, from rows alone."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from toy_suite import toy_task

from sma_gpu.bench import claims as of_claims
from sma_gpu.bench.arms.registry import find
from sma_gpu.bench.claim_rules import FAILS, HOLDS, ONLY_BASELINES, RULES, UNTESTABLE, Claim, Evidence, Judged
from sma_gpu.bench.claims import Claims, claims, claims_record, claims_text
from sma_gpu.bench.figures import MEASURES, Sample
from sma_gpu.bench.rows import Row
from sma_gpu.bench.statistics import holm
from sma_gpu.bench.suites import Suite
from sma_gpu.bench.tasks import registry as tasks
from sma_gpu.cli.main import main
from sma_gpu.errors import QueryError

NAN = float("nan")


def sample(places: list[int], *, scores=None, confidence=None, novelty=None, known=None) -> Sample:
    """Returns one question a place; place 0 is not found, and ``known`` says which have a right item at all."""
    count = len(places)
    fill = lambda given, usual: [usual] * count if given is None else given  # noqa: E731
    columns = zip(
        places, fill(scores, 1.0), fill(confidence, NAN), fill(novelty, NAN), fill(known, True), strict=True
    )  # fmt: skip
    return Sample.of(
        [
            Row(
                f"q{n}",
                f"c{n}",
                "",
                "",
                right,
                "strict",
                place,
                int(place > 0),
                int(place > 0),
                False,
                score,
                sure,
                new,
            )
            for n, (place, score, sure, new, right) in enumerate(columns)
        ],
        "strict",
    )


def judged(claim: Claim, *, quick: bool = False, **samples: Sample) -> Judged:
    found = Evidence(samples, {"arm": 50.0}, quick=quick)
    tests, verdict = RULES[claim.rule]
    made = tests(claim, found, 7)
    corrected = holm([test.drawn.interval().p for test in made])
    return verdict(claim, found, made, {t.other: p for t, p in zip(made, corrected, strict=True)}, 0.05)


ABOVE = Claim("c", "says", "above", "arm", "t", measure="top1", baselines=("text",), others=("onto",))
GOOD, FAIR, BAD = [1] * 40, [1] * 34 + [2] * 6, [1] * 8 + [2] * 32


def test_above_everything_holds() -> None:
    found = judged(ABOVE, arm=sample(GOOD), text=sample(BAD), onto=sample(BAD))
    assert found.verdict == HOLDS
    assert found.numbers == {"ours": 1.0, "best baseline": 0.2, "best other": 0.2}


def test_above_the_baselines_alone_is_said_so() -> None:
    found = judged(ABOVE, arm=sample(FAIR), text=sample(BAD), onto=sample(GOOD))
    assert found.verdict == ONLY_BASELINES
    assert "not shown to be above onto (-0.150)" in found.why


@pytest.mark.parametrize("text", [GOOD, FAIR, [1] * 33 + [2] * 7])
def test_not_shown_to_be_above_a_baseline_fails(text: list[int]) -> None:
    assert judged(ABOVE, arm=sample(FAIR), text=sample(text), onto=sample(BAD)).verdict == FAILS


def test_a_quick_run_fails_a_claim_by_what_was_lost_alone() -> None:
    text, onto = [1] * 33 + [2] * 7, BAD
    assert judged(ABOVE, quick=True, arm=sample(FAIR), text=sample(text), onto=sample(onto)).verdict == UNTESTABLE
    assert judged(ABOVE, quick=True, arm=sample(FAIR), text=sample(GOOD), onto=sample(onto)).verdict == FAILS
    assert judged(ABOVE, quick=True, arm=sample(FAIR), text=sample(BAD), onto=sample(text)).verdict == UNTESTABLE
    assert judged(ABOVE, quick=True, arm=sample(FAIR), text=sample(BAD), onto=sample(GOOD)).verdict == ONLY_BASELINES
    assert judged(ABOVE, quick=True, arm=sample(GOOD), text=sample(BAD), onto=sample(BAD)).verdict == HOLDS
    printed = Claim("c", "says", "strongest", "arm", "t", measure="top1", baselines=("text",), best=0.8)
    assert judged(printed, quick=True, text=sample(text)).verdict == UNTESTABLE
    assert judged(printed, text=sample(text)).verdict == HOLDS


def test_what_is_reached_must_be_reached() -> None:
    claim = replace(ABOVE, at_least=0.9)
    assert judged(claim, arm=sample(FAIR), text=sample(BAD), onto=sample(BAD)).verdict == FAILS
    assert judged(claim, arm=sample(GOOD), text=sample(BAD), onto=sample(BAD)).verdict == HOLDS


def test_without_a_baseline_nothing_is_tested() -> None:
    assert judged(ABOVE, arm=sample(GOOD), onto=sample(BAD)).verdict == UNTESTABLE
    assert judged(ABOVE, text=sample(BAD)).verdict == UNTESTABLE


def test_grounding_compares_first_scores_of_known_and_unknown() -> None:
    known = [True] * 20 + [False] * 20
    apart, mixed = [float(right) for right in known], [float(n % 2) for n in range(40)]
    places = [1] * 20 + [0] * 20
    claim = replace(ABOVE, measure="grounding")
    ours, theirs = sample(places, scores=apart, known=known), sample(places, scores=mixed, known=known)
    found = judged(claim, arm=ours, text=theirs, onto=ours)
    assert found.verdict == ONLY_BASELINES
    assert found.numbers == {"ours": 1.0, "best baseline": 0.5, "best other": 1.0}
    everything = sample([1] * 40)
    assert judged(claim, arm=everything, text=everything).verdict == UNTESTABLE


@pytest.mark.parametrize(
    ("other", "verdict"),
    [(FAIR, HOLDS), (BAD, FAILS), ([2, 1, 2, 1] + [1] * 32 + [1, 2, 2, 2], UNTESTABLE)],
)
def test_a_tie_is_shown_or_refuted_or_left_open(other: list[int], verdict: str) -> None:
    claim = Claim("c", "says", "tie", "arm", "t", measure="top1", other="onto", margin=0.05)
    assert judged(claim, arm=sample(FAIR), onto=sample(other)).verdict == verdict


def test_baselines_above_what_was_printed_are_named() -> None:
    claim = Claim("c", "says", "strongest", "arm", "t", measure="top1", baselines=("text", "dense"), best=0.5)
    found = judged(claim, text=sample(GOOD), dense=sample(BAD))
    assert found.verdict == FAILS
    assert "above what is printed: text (+0.500)" in found.why
    assert judged(claim, dense=sample(BAD)).verdict == HOLDS


def test_a_flag_that_is_always_up_flags_nothing() -> None:
    claim = Claim("c", "says", "flags", "arm", "t")
    known = [bool(n % 4) for n in range(400)]
    places = [int(right) for right in known]
    always = judged(claim, arm=sample(places, novelty=[1.0] * 400, known=known))
    assert always.verdict == FAILS
    assert always.numbers["ours"] == always.numbers["everything novel"]
    rightly = judged(claim, arm=sample(places, novelty=[float(not right) for right in known], known=known))
    assert rightly.verdict == HOLDS
    assert rightly.numbers["ours"] == 1.0
    assert judged(claim, arm=sample(places, known=known)).verdict == UNTESTABLE


def test_confidence_of_one_whatever_comes_is_not_calibrated() -> None:
    claim = Claim("c", "says", "calibrated", "arm", "t", margin=0.1)
    found = judged(claim, arm=sample(BAD, confidence=[1.0] * 40))
    assert found.verdict == FAILS
    assert found.numbers == {"gap": pytest.approx(0.8), "exactly 1": 1.0}
    assert judged(claim, arm=sample(BAD, confidence=[0.2] * 40)).verdict == HOLDS
    assert judged(claim, arm=sample(BAD)).verdict == UNTESTABLE


def test_a_place_that_a_shortlist_moves_is_counted() -> None:
    claim = Claim("c", "says", "same-place", "arm", "t", other="all")
    assert judged(claim, arm=sample(GOOD), all=sample(GOOD)).verdict == HOLDS
    found = judged(claim, arm=sample([1, 2, 50]), all=sample([1, 3, 80]))
    assert (found.verdict, found.numbers) == (FAILS, {"moved": 1.0, "questions": 3.0})


@pytest.mark.parametrize(("most", "verdict"), [(1.0, HOLDS), (10.0, FAILS)])
def test_time_is_counted_for_a_question(most: float, verdict: str) -> None:
    claim = Claim("c", "says", "affordable", "arm", "t", most_seconds=most)
    assert judged(claim, arm=sample(GOOD)).verdict == verdict  # 50 CPU seconds for 40 questions


def test_printed_numbers_reconcile_or_do_not() -> None:
    row = {"name": "medicine", "ours": 0.9, "best": 0.6, "difference": 0.3, "delta": 0.3}
    claim = Claim("c", "says", "printed", "arm", figures=(row,))
    assert judged(claim).verdict == HOLDS
    assert judged(replace(claim, figures=(row | {"difference": 0.31},))).why.startswith("medicine: means differ")
    wrong = judged(replace(claim, figures=(row, row | {"name": "x", "delta": 0.28})))
    assert (wrong.verdict, wrong.numbers) == (FAILS, {"wrong": 1.0})
    assert wrong.why == "x: Cliff's delta is +0.300 for outcomes of 0 and 1, printed +0.280"


def test_every_claim_names_what_exists() -> None:
    of = claims()
    assert set(of.slow) <= {arm for claim in of.claims for arm in claim.arms}
    assert len({claim.id for claim in of.claims}) == len(of.claims) >= 25
    for claim in of.claims:
        assert claim.says
        for arm in claim.arms:
            assert find(arm).name == arm
        assert (claim.rule in ("untestable", "printed")) == (not claim.task)
        if claim.task:
            assert tasks.entry(claim.task).name == claim.task
        if claim.measure:
            assert claim.measure in (*MEASURES, "grounding")
        if claim.rule == "untestable":
            assert claim.why
    for arm in {arm for claim in of.claims for arm in claim.baselines if claim.arm == "adapter-v1-peer-exact"}:
        assert find(arm).kind == "text"
    for arm in {arm for claim in of.claims for arm in claim.others}:
        assert find(arm).kind == "ontology"


def test_no_sentence_of_the_rules_is_missing() -> None:
    text = (Path(of_claims.__file__).parent / "claims.toml").read_text(encoding="utf-8")
    for rule in RULES:
        assert f"#   {rule} " in text, rule


@pytest.mark.parametrize(
    ("told", "found"),
    [({"id": "x", "says": "s", "rule": "guess"}, "no rule is called 'guess'"), ({"id": "x", "rule": "tie"}, "says")],
)
def test_a_claim_that_cannot_be_judged_is_refused(told: dict, found: str) -> None:
    with pytest.raises(QueryError, match=found):
        of_claims._claim({"arm": "a", "baselines": [], "others": [], **told})


@pytest.fixture
def toy_claims(toy_suite: Suite, monkeypatch: pytest.MonkeyPatch) -> Claims:
    entry = tasks.Entry("toy/plain", "A toy task.", (), partial(toy_task, most=9), seeds=(1, 2))
    monkeypatch.setitem(tasks.ENTRIES, "toy/plain", entry)
    near, far = "toy_suite:Near", "toy_suite:Far"
    made = (
        Claim("near", "Near is above.", "above", near, "toy/plain", measure="top1", baselines=(far,)),
        Claim("far", "Far is above.", "above", far, "toy/plain", measure="top1", baselines=(near,)),
        Claim("lacking", "It is above.", "above", near, "toy/plain", measure="top1", baselines=("no-such-weights",)),
        Claim("never", "A model answers.", "untestable", near, why="it needs a model"),
    )
    return Claims("Toy claims.", 3, 0.05, (), made)


def test_claims_are_judged_from_rows_and_corrected_together(toy_claims: Claims, tmp_path: Path) -> None:
    record = claims_record(toy_claims, tmp_path, quick=False)
    assert [claim["verdict"] for claim in record["claims"]] == [HOLDS, FAILS, UNTESTABLE, UNTESTABLE]
    assert record["comparisons"] == 2
    first = record["claims"][0]
    (one,) = first["comparisons"]
    assert one["difference"] == pytest.approx(one["ours"] - one["theirs"])
    assert one["corrected_p"] == pytest.approx(min(1.0, 2 * one["p"]), rel=1.0)
    assert one["corrected_p"] >= one["p"]
    assert first["command"] == "sma-gpu bench run toy --task toy/plain"
    assert record["claims"][2]["unavailable"] == {
        "no-such-weights": "no-such-package not installed: pip install weights"
    }
    again = claims_record(toy_claims, tmp_path, quick=False)
    assert again == record  # rows are there, and their time with them
    text = claims_text(record)
    assert "| Near is above | **holds** | " in text
    assert "not here: no-such-weights" in text
    assert "holds: 1; only against the published baselines: 0; fails: 1; not testable here: 2." in text


def test_the_command_gives_the_record(
    toy_claims: Claims, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(of_claims, "claims", lambda: toy_claims)
    words = ["bench", "claims", "--quick", "--folder", str(tmp_path / "rows")]
    assert main([*words, "--json"]) == 0
    out, err = capsys.readouterr()
    record = json.loads(out)
    assert record["quick"] and record["command"] == "sma-gpu bench claims --quick"
    assert err.splitlines()[0] == "toy/plain seed 1: reading"
    assert main(words) == 0
    assert capsys.readouterr().out.startswith("## claims (quick)\n")
    assert np.isfinite(record["claims"][0]["cpu_s"])


def test_a_quick_run_leaves_the_slow_arms_out_and_says_so(toy_claims: Claims, tmp_path: Path) -> None:
    record = claims_record(replace(toy_claims, slow=("toy_suite:Far",)), tmp_path, quick=True)
    assert [claim["verdict"] for claim in record["claims"][:2]] == [UNTESTABLE, UNTESTABLE]
    assert list(record["claims"][0]["unavailable"]) == ["toy_suite:Far"]
    assert "not here: toy_suite:Far" in claims_text(record)
    assert not (tmp_path / "run.json").exists()  # rows may be shared with a suite's run, whose account stays


def test_an_arm_that_is_to_be_left_out_is_not_asked_and_the_command_says_so(
    toy_claims: Claims, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(of_claims, "claims", lambda: toy_claims)
    words = ["bench", "claims", "--folder", str(tmp_path), "--json", "--without"]
    assert main([*words, "toy_suite:Far"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["command"] == "sma-gpu bench claims --without toy_suite:Far"
    assert record["claims"][0]["unavailable"] == {"toy_suite:Far": "left out as asked"}
    assert main([*words, "toy_suite:Fra"]) == 2
    assert "no claim asks it" in capsys.readouterr().err
