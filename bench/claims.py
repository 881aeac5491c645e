"""Each headline claim of the published system with a verdict, its command, and the CPU time that it took.

What is claimed, and by which rule it is judged, stands in ``claims.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import DataMissing, QueryError
from .claim_rules import FAILS, HOLDS, ONLY_BASELINES, RULES, UNTESTABLE, Claim, Evidence, Test
from .figures import Sample
from .running import Cell, Progress, Run, run_suite
from .statistics import holm
from .suites import Suite, Table, suite, suite_names
from .tasks.task import STRICT

__all__ = ["SCHEMA", "Claims", "claims", "claims_record", "claims_text"]

SCHEMA = "sma-gpu/bench-claims/1"


@dataclass(frozen=True)
class Claims:
    """All claims, fixed before a run.

    Attributes:
        words: what they are.
        seed: of the bootstrap.
        alpha: of corrected p-values.
        slow: arms that a quick run leaves out, and says so.
        claims: in the order in which they are shown.
    """

    words: str
    seed: int
    alpha: float
    slow: tuple[str, ...]
    claims: tuple[Claim, ...]

    def arms_of(self, task: str) -> tuple[str, ...]:
        """Returns all arms that some claim asks a task."""
        return tuple(dict.fromkeys(arm for claim in self.claims if claim.task == task for arm in claim.arms))

    @property
    def tasks(self) -> tuple[str, ...]:
        """All tasks that some claim is about."""
        return tuple(dict.fromkeys(claim.task for claim in self.claims if claim.task))


@cache
def claims() -> Claims:
    """Returns the claims of ``claims.toml``.

    Raises:
        QueryError: a claim lacks what it must say, or says what no claim can, or is judged by a rule that there is not.
    """
    told = tomllib.loads(files(__package__).joinpath("claims.toml").read_text(encoding="utf-8"))
    shared = {name: told[name] for name in ("arm", "baselines", "others")}
    found = tuple(_claim({**shared, **claim}) for claim in told["claim"])
    return Claims(told["words"], told["seed"], told["alpha"], tuple(told["slow"]), found)


def _claim(told: Mapping[str, Any]) -> Claim:
    name = told.get("id", "without an id")
    if told.get("rule") not in RULES:
        raise QueryError(f"claim {name}", f"no rule is called {told.get('rule')!r}", f"There are {', '.join(RULES)}.")
    lists = {key: tuple(told[key]) for key in ("baselines", "others")}
    try:
        return Claim(**{**told, **lists})
    except TypeError as fault:
        raise QueryError(f"claim {name}", str(fault), "Say of it what a claim is made of.") from fault


def claims_record(
    of: Claims,
    folder: Path,
    *,
    quick: bool,
    without: Sequence[str] = (),
    progress: Progress = lambda words: None,
) -> dict[str, Any]:
    """Returns every claim with its verdict, ready for JSON. Rows are kept in ``folder``, and shared with suites' runs.

    Args:
        of: the claims.
        folder: where rows are kept; made if need be.
        quick: on the small draw of each task.
        without: arms that are left out, which the claims say.
        progress: is told what is being done.

    Raises:
        QueryError: no claim asks an arm that is to be left out.
    """
    asked_arms = {arm for task in of.tasks for arm in of.arms_of(task)}
    for name in without:
        if name not in asked_arms:
            raise QueryError(
                f"leave out the arm {name}", "no claim asks it", f"There are {', '.join(sorted(asked_arms))}."
            )
    runs, skipped = {}, {}
    for task in of.tasks:
        names = of.arms_of(task)
        table = Table(task, (), (STRICT,), (), ())
        asked = Suite("claims", of.words, of.seed, names[0], names[1:], (), of.slow, (table,))
        try:
            left_out = [name for name in without if name in names]
            runs[task] = run_suite(asked, folder, quick=quick, without=left_out, written=False, progress=progress)
        except DataMissing as missing:
            skipped[task] = str(missing)
    found = [_evidence(claim, runs.get(claim.task)) for claim in of.claims]
    tests = [RULES[claim.rule][0](claim, one, of.seed) for claim, one in zip(of.claims, found, strict=True)]
    of_all = [test for own in tests for test in own]
    corrected = iter(holm([test.drawn.interval().p for test in of_all]))
    told = []
    for claim, one, own in zip(of.claims, found, tests, strict=True):
        p_values = {test.other: next(corrected) for test in own}
        judged = RULES[claim.rule][1](claim, one, own, p_values, of.alpha)
        told.append(
            _about(claim)
            | {
                "verdict": judged.verdict,
                "why": skipped.get(claim.task, judged.why) + _too_few(claim, one, judged.verdict),
                "numbers": dict(judged.numbers),
                "comparisons": [_comparison(test, p_values[test.other], len(of_all)) for test in own],
                "command": _rows_command(claim, quick=quick),
            }
            | _rests_on(claim, one, runs.get(claim.task))
        )
    return {
        "schema": SCHEMA,
        "words": of.words,
        "quick": quick,
        "command": _command("bench claims", quick=quick) + "".join(f" --without {name}" for name in without),
        "comparisons": len(of_all),
        "alpha": of.alpha,
        "bootstrap_seed": of.seed,
        "claims": told,
    }


def _too_few(claim: Claim, found: Evidence, verdict: str) -> str:
    few = found.quick and found.samples and verdict == UNTESTABLE and claim.rule != "tie"
    return "; a quick run has too few questions to tell" if few else ""


def _about(claim: Claim) -> dict[str, Any]:
    names = ("id", "says", "rule", "task", "slice", "measure", "arm")
    return {name: getattr(claim, name) for name in names} | {"printed": dict(claim.printed)}


def _rests_on(claim: Claim, found: Evidence, run: Run | None) -> dict[str, Any]:
    cells = [cell for cell in run.cells if cell.arm in claim.arms] if run else []
    return {
        "questions": len(next(iter(found.samples.values()))) if found.samples else 0,
        "unavailable": {cell.arm: cell.unavailable for cell in cells if cell.unavailable},
        "cpu_s": round(_seconds(cells), 1),
    }


def _evidence(claim: Claim, run: Run | None) -> Evidence:
    if run is None:
        return Evidence({}, {})
    cells = [cell for cell in run.cells if cell.arm in claim.arms]
    names = [name for name in claim.arms if any(cell.arm == name and not cell.unavailable for cell in cells)]
    samples = {name: Sample.of(run.of(claim.task, name), STRICT, claim.slice) for name in names}
    seconds = {name: _seconds(cell for cell in cells if cell.arm == name) for name in names}
    return Evidence(samples, seconds, quick=run.quick)


def _seconds(cells: Iterable[Cell]) -> float:
    return sum(cell.cpu_s or 0.0 for cell in cells)


def _comparison(test: Test, corrected: float, family: int) -> dict[str, Any]:
    of = test.drawn.interval(family)
    return {
        "other": test.other, "ours": test.ours, "theirs": test.theirs, "difference": of.difference, "low": of.low,
        "high": of.high, "p": of.p, "corrected_p": corrected,
    }  # fmt: skip


def _command(words: str, *, quick: bool) -> str:
    return f"sma-gpu {words}{' --quick' if quick else ''}"


def _rows_command(claim: Claim, *, quick: bool) -> str:
    """Returns the command that asks a claim's arms its task."""
    holding = [name for name in suite_names() if any(table.task == claim.task for table in suite(name).tables)]
    if not claim.task or not holding:
        return _command("bench claims", quick=quick)
    able = [name for name in holding if set(claim.arms) <= set(suite(name).arms)] or holding
    return _command(f"bench run {able[0]} --task {claim.task}", quick=quick)


def claims_text(record: Mapping[str, Any]) -> str:
    """Returns the claims as Markdown."""
    lines = [f"## claims{' (quick)' if record['quick'] else ''}", "", record["words"], ""]
    lines += [
        f"`{record['command']}`; corrected over all {record['comparisons']} comparisons (Holm, {record['alpha']:g}).",
        "",
        "| claim | verdict | why | CPU s |",
        "| --- | --- | --- | ---: |",
    ]
    for claim in record["claims"]:
        says = claim["says"].rstrip(".") + _printed(claim["printed"])
        lines.append(f"| {says} | **{claim['verdict']}** | {claim['why']}{_absent(claim)} | {_spent(claim['cpu_s'])} |")
    counts = {name: sum(claim["verdict"] == name for claim in record["claims"]) for name in _VERDICTS}
    lines += ["", "; ".join(f"{name}: {count}" for name, count in counts.items()) + ".", ""]
    return "\n".join(lines)


_VERDICTS = (HOLDS, ONLY_BASELINES, FAILS, UNTESTABLE)


def _printed(told: Mapping[str, float]) -> str:
    if not told:
        return ""
    return f" (printed: {', '.join(f'{name} {value:.3f}' for name, value in told.items())})"


def _absent(claim: Mapping[str, Any]) -> str:
    return f"; not here: {', '.join(claim['unavailable'])}" if claim["unavailable"] else ""


def _spent(seconds: float) -> str:
    return f"{seconds:,.1f}" if seconds else "-"
