"""The structure benchmark runs, and the page with its table shows the record."""

from __future__ import annotations

import importlib.util
import json
import random
import re
import shlex
from pathlib import Path

import pytest

from sma_gpu.bench import structure
from sma_gpu.bench.generators import Words, flat_pair, planted_pair, retold, terms, told, unrelated_pair, vocabulary
from sma_gpu.cases import Case, Entity, Statement

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs" / "STRUCTURE-SPEED.md").read_text(encoding="utf-8")
RECORD = json.loads((REPOSITORY / "docs" / "measured" / "structure-reference.json").read_text(encoding="utf-8"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    structure.main(arguments)
    return capsys.readouterr().out


def fields(value: object) -> object:
    """The names in a record, whatever the figures; what is left out where something beside us is not installed."""
    if isinstance(value, dict):
        return {k: fields(v) for k, v in sorted(value.items()) if k not in {"published", "compiled"}}
    return [fields(value[0])] if isinstance(value, list) else None


def test_a_tiny_run_has_the_fields_of_the_record(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, "--pairs", "2", "--sizes", "5", "12", "--nodes", "500", "--seed", "3"))
    assert fields(found) == fields(RECORD)
    assert [(row["family"], row["size"]) for row in found["rows"]] == [
        (family, size) for family in ("planted", "unrelated", "flat") for size in (5, 12)
    ]
    assert (found["pairs"], found["nodes"], found["seed"]) == (2, 500, 3)
    for row in found["rows"]:
        assert row["proved"] == row["pairs"] == 2
        assert row["greatest_gap"] == 0
        assert row["cpu_ms"]["p95"] >= row["cpu_ms"]["median"] > 0
        assert (row["compiled"] is None) == (importlib.util.find_spec("numba") is None)
        if row["compiled"]:
            assert row["compiled"].keys() == RECORD["rows"][0]["compiled"].keys()
            assert row["compiled"]["pairs_per_cpu_s"] > 0
        assert (row["published"] is None) == (importlib.util.find_spec("sma") is None)
        if row["published"]:
            assert row["published"]["above_ours"] == 0
            assert row["published"].keys() == RECORD["rows"][0]["published"].keys()


def test_without_nodes_the_gap_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, "--pairs", "2", "--sizes", "20", "--nodes", "0"))
    unrelated = next(row for row in found["rows"] if row["family"] == "unrelated")
    assert unrelated["proved"] == 0
    assert unrelated["greatest_gap"] > 0


def test_the_page_shows_the_record(capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.search(r"(?:^\|.*\n)+", PAGE, re.MULTILINE)
    assert shown is not None
    assert shown[0] == structure.table(RECORD) + "\n"
    record = REPOSITORY / "docs" / "measured" / "structure-reference.json"
    assert run(capsys, "--table", str(record)) == shown[0]


def test_the_page_shows_what_greater_budgets_prove(capsys: pytest.CaptureFixture[str]) -> None:
    for package in ("ortools", "numba"):
        pytest.importorskip(package, reason=f"{package} is not installed; the extra bench brings it")
    from sma_gpu.bench import structure_budgets

    record = REPOSITORY / "docs" / "measured" / "structure-budgets.json"
    structure_budgets.main(["--table", str(record)])
    assert capsys.readouterr().out in PAGE
    structure_budgets.main(["--pairs", "2", "--sizes", "8", "--nodes", "0", "2000", "--effort", "1"])
    found = json.loads(capsys.readouterr().out)
    assert fields(found) == fields(json.loads(record.read_text(encoding="utf-8")))
    for row in found["rows"]:
        assert row["nodes"] == 0 or row["proved"] == row["agreed"] == 2
    assert any(row["greatest_gap"] for row in found["rows"])


def test_the_page_says_how_the_record_was_made() -> None:
    command = re.search(
        r"^    \.venv/bin/python -m sma_gpu\.bench\.structure (.*?) > docs/measured/", PAGE, re.MULTILINE
    )
    assert command is not None
    asked = dict(zip(shlex.split(command[1])[::2], shlex.split(command[1])[1::2], strict=True))
    assert asked == {"--pairs": str(RECORD["pairs"]), "--seed": str(RECORD["seed"])}
    assert [row["size"] for row in RECORD["rows"][:7]] == list(structure.SIZES)


def test_pairs_are_what_they_are_said_to_be() -> None:
    words, flat = vocabulary(), terms(200)
    for size in (5, 20, 60):
        for number in range(5):
            rng = random.Random(f"{size} {number}")
            planted, unrelated = (make(rng, words, size, number) for make in (planted_pair, unrelated_pair))
            for case in (planted.base, unrelated.base, unrelated.target):
                check(case, words)
                assert 0.7 * size <= len(list(case.walk())) <= size
                assert len(case.entities()) <= max(2, round(size / 3))
            check(planted.target, words)
            assert not set(planted.base.entities()) & set(planted.target.entities())
            level = flat_pair(rng, flat, size, number)
            assert [len(case.statements) for case in (level.base, level.target)] == [size, size]
            assert len({*level.base.entities(), *level.target.entities()}) == 1
            held, asked = ({s.functor.id for s in case.statements} for case in (level.base, level.target))
            assert any(held & {t, *flat.siblings(t)} for t in asked)
            assert size < 20 or 0 < len(held & asked) < size
    assert max(s.order for s in told(random.Random(1), words, "base", 40).walk()) == 3


def check(case: Case, words: Words) -> None:
    for s in case.walk():
        assert len(s.args) == words.arity[s.functor.id]
        inner = {type(a) for a in s.args}
        assert inner == {Statement if s.functor.id.startswith(("comparison", "cause")) else Entity}


def test_a_case_told_of_other_things_without_loss_is_the_same_case() -> None:
    words, rng = vocabulary(), random.Random(5)
    base = told(rng, words, "base", 30)
    same = retold(rng, words, base, "target", drop=0, replace=0, noise=0)
    assert sorted(s.functor.id for s in same.walk()) == sorted(s.functor.id for s in base.walk())
    less = retold(rng, words, base, "target", drop=0.5, replace=0, noise=0)
    assert 0 < len(list(less.walk())) < len(list(base.walk()))
    other = retold(rng, words, base, "target", drop=0, replace=1, noise=0)
    used, told_now = ({s.functor.id for s in case.walk()} for case in (base, other))
    assert any(f not in told_now for f in used)
    assert all(set(words.siblings(f)) & told_now for f in used)


def test_a_seed_fixes_the_pairs() -> None:
    first, again, other = (planted_pair(random.Random(seed), vocabulary(), 40) for seed in (1, 1, 2))
    assert first == again != other
