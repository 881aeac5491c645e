"""Whether a backend gives the bits of the reference: each op on invented problems, and whole retrievals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import BackendUnavailable, CapacityError, QueryError
from ..ops import FoldedLists, Ops, WholeOps, backends, choose
from ..ops.reference import ReferenceOps
from ..ops.registry import AUTO
from .machine import environment
from .op_problems import NORMALISATIONS, Problem, invented, mask, pairs_of
from .retrievals import Retrieval, hpo_retrievals, invented_retrievals, medicine, tops

__all__ = ["Check", "checks", "parity_report", "parity_text", "problems", "serving"]

SCHEMA = "sma-gpu/ops-parity/1"

_SHORTLIST = 64
_PAIRS = 1500  # aligned in each problem
_HPO_QUERIES = 32


@dataclass(frozen=True)
class Check:
    """One comparison with the reference: what was compared, and whether all bits are equal."""

    what: str
    equal: bool


def serving(backend: str, device: str) -> tuple[dict[str, Ops], dict[str, str]]:
    """Returns the ops to be compared, by the name of their backend, and why the others cannot serve here.

    Args:
        backend: one backend, which then must serve, or ``auto`` for all that can.
        device: the device that they must work on, or ``auto``.

    Raises:
        BackendUnavailable: the one that was named cannot serve, or none can but the reference.
        QueryError: the reference was named.
    """
    if backend == "reference":
        raise QueryError("parity of the reference", "it is what the others are compared with", "Name another backend.")
    names = [b.name for b in backends() if b.name != "reference"] if backend == AUTO else [backend]
    able: dict[str, Ops] = {}
    lacking: dict[str, str] = {}
    for name in names:
        try:
            able[name] = choose(name, device)[1]
        except BackendUnavailable as fault:
            if backend != AUTO:
                raise
            lacking[name] = fault.found
    if not able:
        raise BackendUnavailable(
            f"a backend to compare with the reference on device {device}",
            "; ".join(f"{name}: {why}" for name, why in lacking.items()),
            "Name one with --backend to hear what it needs"
            + (", or use --device cpu." if device == "cuda" else ", or run: pip install 'sma_gpu[cpu]'."),
        )
    return able, lacking


def parity_report(backend: str, device: str, seed: int) -> dict[str, Any]:
    """Returns which comparisons of each backend with the reference were made, and which of them differ.

    Raises:
        BackendUnavailable: see ``serving``.
        QueryError: likewise.
    """
    able, lacking = serving(backend, device)
    found = []
    for name, ops in able.items():
        made = list(checks(ops, seed))
        found.append(
            {"name": name, "comparisons": len(made), "differing": [check.what for check in made if not check.equal]}
        )
    return {
        "schema": SCHEMA,
        "seed": seed,
        "device": device,
        "green": not any(row["differing"] for row in found),
        "backends": found,
        "not_serving": lacking,
        "environment": environment(),
    }


def parity_text(report: dict[str, Any]) -> str:
    """Returns the report in a few lines."""
    lines = []
    for row in report["backends"]:
        state = "RED" if row["differing"] else "green"
        lines.append(f"{row['name']}: {state}, {row['comparisons']} comparisons with the reference")
        lines += [f"  differs: {what}" for what in row["differing"]]
    lines += [f"{name}: does not serve here: {why}" for name, why in report["not_serving"].items()]
    return "\n".join(lines) + "\n"


def checks(ops: Ops, seed: int) -> Iterator[Check]:
    """Yields each comparison of a backend with the reference."""
    rng = np.random.default_rng(seed)
    for name, problem in problems(rng):
        yield from _problem_checks(ops, name, problem, rng)
    yield from _edges(ops)
    for retrieval in invented_retrievals(seed):
        yield _retrieval_check(ops, retrieval)
    domain = medicine()
    if domain is not None:
        for retrieval in hpo_retrievals(domain, seed, _HPO_QUERIES):
            yield _retrieval_check(ops, retrieval)


def problems(rng: np.random.Generator) -> Iterator[tuple[str, Problem]]:
    """Yields named problems, from nothing to 20,000 cases."""
    for queries, cases in ((0, 5), (3, 0), (1, 1), (7, 63), (64, 1000), (33, 20_000)):
        yield f"{queries}x{cases}", invented(rng, queries, cases)
    yield "several entities", invented(rng, 16, 3000, most_entities=5)
    yield "repeated lists", invented(rng, 16, 3000, repeats=True, asked=4, query_size=20)
    yield "all tie", invented(rng, 16, 9000, greatest=1)
    yield "near the limit", invented(rng, 8, 2000, greatest=(1 << 31) // 64, query_size=40, kinds=60, asked=60)
    yield "300 terms", invented(rng, 6, 40, kinds=500, asked=400, query_size=400, case_size=150, near=30)


def _problem_checks(ops: Ops, name: str, problem: Problem, rng: np.random.Generator) -> Iterator[Check]:
    reference = ReferenceOps()
    asked = (problem.query_ptr, problem.query_lists, problem.query_entities)
    for form, lists in (("", problem.lists), (" postings", problem.postings)):
        for masked in (False, True):
            among = mask(rng, problem) if masked else None
            wanted = reference.accumulate(problem.lists, *asked, among)
            what = f"accumulate {name}{form}{' masked' if masked else ''}"
            yield _check(what, (wanted,), (ops.accumulate(lists, *asked, among),))
    bounds, cases = reference.accumulate(problem.lists, *asked), len(problem.tie_rank)
    found = ops.accumulate(problem.lists, *asked)  # a device keeps its own bounds, and selects from those
    for normalisation in NORMALISATIONS:
        for limit in sorted({1, _SHORTLIST, min(max(cases, 1), 1500), min(max(cases, 1), 5000)}):
            more = (problem.normaliser(normalisation), problem.self_query, problem.tie_rank, limit)
            yield _check(
                f"select {name} {normalisation} L={limit}", reference.select(bounds, *more), ops.select(found, *more)
            )
    count = len(problem) * cases
    drawn = np.sort(rng.choice(count, min(count, _PAIRS), replace=False)) if count else np.zeros(0, np.int64)
    pairs = pairs_of(problem, *np.divmod(drawn, max(cases, 1)))
    yield _check(f"assign {name}", (reference.assign(problem.table, pairs),), (ops.assign(problem.table, pairs),))


def _edges(ops: Ops) -> Iterator[Check]:
    """Yields whether bounds just below and from 2^31 on are told apart."""
    most = (1 << 31) - 1
    for best, refused in (
        ([most - (1 << 16)], False),
        ([most - (1 << 16) + 1], True),
        ([most, most, 2], True),
        ([most] * 5, True),
    ):
        size = len(best)
        lists = FoldedLists(
            np.arange(size + 1, dtype=np.int64),
            np.zeros(size, np.int32),
            np.array(best, np.int32),
            np.ones(1, np.int32),
        )
        try:
            ops.accumulate(lists, np.array([0, size]), np.arange(size, dtype=np.int32), np.ones(1, np.int32))
        except CapacityError:
            found = True
        else:
            found = False
        yield Check(f"bounds of {best}", found == refused)


def _retrieval_check(ops: Ops, retrieval: Retrieval) -> Check:
    whole = " (whole)" if isinstance(ops, WholeOps) else ""
    return _check(f"retrieve {retrieval.name}{whole}", tops(ReferenceOps(), retrieval), tops(ops, retrieval))


def _check(what: str, wanted: tuple[Any, ...], found: tuple[Any, ...]) -> Check:
    equal = len(wanted) == len(found) and all(
        a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(wanted, found, strict=True)
    )
    return Check(what, equal)
