"""How fast a workload is answered, by us and by others in the same run.

Every arm works in a process of its own, with one thread, and arms take turns: a round asks each of them once, and what
is told is the median over rounds, in CPU seconds of the arm's process. Before anything is timed, the hits of our
backend are compared with those of the reference; where a bit differs the record holds no speed.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..answers import Engine
from ..errors import QueryError
from ..ops import choose
from ..retrieval import Index
from ..scoring import Dials
from .arm_process import store
from .machine import Clock, environment
from .peers.protocol import PEERS, Peer
from .processes import ArmFault, Process
from .speed_table import bars
from .term_sets import TermSets
from .workloads import Workload, make_workload, plain_files, world_of

__all__ = ["differing", "speed_record"]

SCHEMA = "sma-gpu/bench-speed/1"

K = 10
_ROUNDS, _LARGE_ROUNDS = 5, 3
_LARGE = 100_000  # cases from which on rounds are fewer, and what is asked of peers and of the reference less
_CELLS = 200_000_000  # cases times queries that an arm is asked in a round, at most
_COMPARED, _COMPARED_LARGE = 200, 20  # queries compared with the reference
_SINGLES, _SINGLES_LARGE = 300, 60
_EXPLAINED = 50


@dataclass(frozen=True)
class _Arm:
    name: str
    words: str
    module: str
    mode: str = ""
    backend: str = ""
    queries: int = 0  # in each round, other ones each time; all of them in every round where it is 0
    before: str | None = None  # a folder in front of the import path
    packages: tuple[str, ...] = ()  # distributions whose versions are told

    @property
    def process(self) -> tuple[str, str, str | None]:
        """What arms of one process have in common."""
        return self.module, self.backend, self.before


_OURS = (
    _Arm("certified", "top 10, proved, with mappings for the hits", "sma_gpu.bench.ours", "mappings", "auto"),
    _Arm("certified scores", "top 10, proved, without mappings", "sma_gpu.bench.ours", "scores", "auto"),
    _Arm("bounds and selection", "MAC alone: the best 64 by bound", "sma_gpu.bench.ours", "selection", "auto"),
    _Arm("reference", "top 10, proved, by the reference backend", "sma_gpu.bench.ours", "scores", "reference", 100),
    _Arm("our lists, BM25", "the words and weights of bm25s in our lists", "sma_gpu.bench.closure_lists", "", "auto"),
)


def speed_record(name: str, peers: str, seed: int, *, hpo3: str | None = None, quick: bool = False) -> dict[str, Any]:
    """Returns what was measured, as a plain object; without any speed where parity is red.

    Args:
        name: the workload.
        peers: names of peers with commas between, ``all`` or ``none``.
        seed: what all draws depend on.
        hpo3: the folder that hpo3 was installed into.
        quick: few queries, one round, no bars.

    Raises:
        DataMissing: the files of the workload are not on this machine.
        QueryError: there is no peer of that name, or hpo3 is not in its folder.
    """
    asked = _peers_named(peers)
    if hpo3 and not Path(hpo3, "pyhpo").is_dir():
        raise QueryError(f"--hpo3 {hpo3}", "there is no package pyhpo in it", f"Run: pip install --target {hpo3} hpo3")
    workload = make_workload(name, seed, quick=quick)
    cases = len(workload.cases)
    count = min(len(workload.queries), max(1, _CELLS // cases))
    large = cases > _LARGE
    differ, backend = differing(workload, min(count, _COMPARED_LARGE if large else _COMPARED))
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "workload": {
            "name": name,
            "cases": cases,
            "queries": len(workload.queries),
            "terms_median": statistics.median(np.diff(workload.queries.ptr).tolist()),
            "k": K,
            "seed": seed,
            "quick": quick,
            "ontology": workload.domain.mounted.ontology.label,
            "notes": list(workload.notes),
        },
        "backend": backend,
        "dials": Dials().as_dict(),
        "green": not differ,
        "differing": differ,
        "environment": environment(),
    }
    if differ:
        return {**record, "bars": [], "bars_met": False}
    arms, left_out = _arms(asked, hpo3, cases)
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        folder = Path(place)
        cases_given, asked_given = (TermSets(held.ptr, held.functors) for held in (workload.cases, workload.queries))
        world = replace(world_of(workload), ontology_file=plain_files(workload, folder))
        store(folder, world, cases_given, asked_given)
        rounds = 1 if quick else (_LARGE_ROUNDS if large else _ROUNDS)
        measured = _Measured(folder, stack, left_out, count)
        measured.build(arms)
        measured.turns(rounds)
        measured.note_memory()
        ours = measured.processes[_OURS[0].process]
        singles = min(count, _SINGLES_LARGE if large else _SINGLES)
        record["single_query_ms"] = {
            mode: _percentiles(ours.ask("singles", mode=mode, start=0, stop=singles, k=K)["cpu_s"])
            for mode in ("mappings", "scores")
        }
        record["facts"] = ours.ask("tell", what="facts", stop=count, k=K)
        record["arms"] = list(measured.rows(workload))
        record["not_run"] = [{"name": arm, "reason": reason} for arm, reason in sorted(left_out.items())]
        with Process(folder) as alone:  # so that what other dials need is in no arm's memory
            alone.ask("build", module=_OURS[0].module, options={"backend": "auto"})
            record["aligned"] = alone.ask("tell", what="aligned", stop=count, k=K)
    if cases < _LARGE:
        record["explained_answer_ms"] = _explained(workload)
    record["bars"] = [] if quick else bars(record)
    record["bars_met"] = all(bar["met"] for bar in record["bars"])
    return record


def differing(workload: Workload, queries: int) -> tuple[list[str], str]:
    """Returns which arrays of the hits of our backend are not those of the reference, and the backend's name."""
    index = Index.build(workload.cases, workload.domain.mounted)
    batch = workload.queries.take(np.arange(queries))
    name, _ = choose(cells=1 << 40)
    wanted, found = (index.retrieve(batch, K, backend=b, mappings=True) for b in ("reference", name))
    return [f.name for f in fields(wanted) if f.name != "backend" and not _same(wanted, found, f.name)], name


def _same(wanted: Any, found: Any, name: str) -> bool:
    a, b = getattr(wanted, name), getattr(found, name)
    if is_dataclass(a) and not isinstance(a, type):
        return type(a) is type(b) and all(_same(a, b, f.name) for f in fields(a))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return bool(a == b)


def _peers_named(names: str) -> tuple[Peer, ...]:
    if names in ("all", "none"):
        return PEERS if names == "all" else ()
    wanted = [name.strip() for name in names.split(",")]
    unknown = sorted(set(wanted) - {peer.name for peer in PEERS})
    if unknown:
        known = ", ".join(peer.name for peer in PEERS)
        raise QueryError(
            f"--peers {names}", f"there is no peer {unknown[0]}", f"Name some of {known}, or all, or none."
        )
    return tuple(peer for peer in PEERS if peer.name in wanted)


def _arms(peers: tuple[Peer, ...], hpo3: str | None, cases: int) -> tuple[list[_Arm], dict[str, str]]:
    """Returns what is measured, and why the rest is not."""
    arms = [arm for arm in _OURS if arm.backend != "reference" or cases < _LARGE]
    left_out: dict[str, str] = {}
    for peer in peers:
        before = hpo3 if peer.name == "hpo3" else None
        missing = "" if before else peer.missing()
        if missing:
            left_out[peer.name] = missing
        elif cases > peer.most_cases:
            left_out[peer.name] = f"not run on more than {peer.most_cases:,} cases: too long, or too much memory"
        else:
            module = f"sma_gpu.bench.peers.{peer.module}"
            arms.append(
                _Arm(peer.name, peer.words, module, queries=peer.queries, before=before, packages=peer.packages)
            )
    return arms, left_out


class _Measured:
    """Arms in their processes, and what they did."""

    def __init__(self, folder: Path, stack: ExitStack, left_out: dict[str, str], count: int) -> None:
        self._folder, self._stack, self._left_out, self._count = folder, stack, left_out, count
        self.processes: dict[tuple[str, str, str | None], Process] = {}
        self._built: dict[tuple[str, str, str | None], dict[str, Any]] = {}
        self._done: dict[_Arm, list[dict[str, Any]]] = {}

    def build(self, arms: list[_Arm]) -> None:
        """Starts the processes, one after the other, and lets each build what it needs."""
        for arm in arms:
            if arm.process not in self.processes:
                process = self._stack.enter_context(Process(self._folder, arm.before))
                options = {"backend": arm.backend} if arm.backend else {}
                try:
                    self._built[arm.process] = process.ask(
                        "build", module=arm.module, options=options, packages=arm.packages
                    )
                except ArmFault as fault:
                    self._give_up(arm, fault)
                    continue
                self.processes[arm.process] = process
            self._done[arm] = []

    def turns(self, rounds: int) -> None:
        """Asks every arm once in each round; a first time, not counted, warms those that are asked the same again."""
        for turn in range(-1, rounds):
            for arm in list(self._done):
                if turn < 0 and arm.queries:
                    continue
                size = min(arm.queries or self._count, self._count)
                start = max(turn, 0) * size % max(self._count - size + 1, 1)
                try:
                    done = self.processes[arm.process].ask("search", mode=arm.mode, start=start, stop=start + size, k=K)
                except ArmFault as fault:
                    self._give_up(arm, fault)
                    continue
                self._done[arm].append({**done, "start": start, "counted": turn >= 0})

    def note_memory(self) -> None:
        """Takes down what each process has held so far; what is asked later is not part of it."""
        for held, process in self.processes.items():
            self._built[held]["peak_memory_mb"] = process.ask("peak")

    def rows(self, workload: Workload) -> Iterator[dict[str, Any]]:
        """Yields what is told of each arm."""
        ours: float | None = None
        ours_found: list[list[int]] = []
        for arm, done in self._done.items():
            counted = [turn for turn in done if turn["counted"]]
            rates = [len(turn["found"]) / max(turn["cpu_s"], 1e-9) for turn in counted]
            rate = statistics.median(rates)
            ours, ours_found = ours or rate, ours_found or counted[0]["found"]
            built = self._built[arm.process]
            process = self.processes[arm.process]
            again = [turn["found"] for turn in done if turn["start"] == 0]
            row = {
                "name": arm.name,
                "words": arm.words,
                "queries_a_round": len(counted[0]["found"]),
                "rounds": len(counted),
                "queries_per_cpu_s": rate,
                "least_and_most": [min(rates), max(rates)],
                "pairs_per_cpu_s": rate * len(workload.cases),
                "ours_times_as_fast": ours / rate,
                "build_cpu_s": built["cpu_s"],
                "first_batch_cpu_s": None if done[0]["counted"] else done[0]["cpu_s"],
                "peak_memory_mb": built["peak_memory_mb"],
                **_accuracy(counted, workload.targets),
                "same_twice": None if len(again) < 2 else all(found == again[0] for found in again),
                "note": built["note"],
                "versions": built["versions"],
            }
            if arm.queries:
                same = [
                    {**turn, "found": ours_found[turn["start"] : turn["start"] + len(turn["found"])]}
                    for turn in counted
                ]
                row["certified_on_the_same"] = {"queries": _asked(counted), **_accuracy(same, workload.targets)}
            if "lists" in arm.name:
                row["entries_added"] = process.ask("tell", what="facts", stop=self._count, k=K)["entries_added"]
            yield row

    def _give_up(self, arm: _Arm, fault: ArmFault) -> None:
        if arm in _OURS:
            raise fault
        self._left_out[arm.name] = f"failed: {fault}"
        self._done.pop(arm, None)


def _asked(turns: list[dict[str, Any]]) -> int:
    """Returns the number of different queries of some turns."""
    return len({turn["start"] + row for turn in turns for row in range(len(turn["found"]))})


def _accuracy(turns: list[dict[str, Any]], targets: Any) -> dict[str, float]:
    """Returns the share of queries whose target is the first hit, among the first 5, among the first 10."""
    asked = {turn["start"] + row: hits for turn in turns for row, hits in enumerate(turn["found"])}
    places = [hits.index(targets[query]) if targets[query] in hits else K for query, hits in asked.items()]
    return {f"top{n}": sum(place < n for place in places) / len(places) for n in (1, 5, 10)}


def _percentiles(seconds: list[float]) -> dict[str, float]:
    middle, high = np.percentile(np.array(seconds) * 1000, [50, 99]).tolist()
    return {"median": middle, "p99": high}


def _explained(workload: Workload) -> float:
    """Returns the CPU milliseconds of a whole answer, median: hits with mapping, evidence, inferences."""
    engine = Engine(workload.domain)
    took = []
    for number in range(min(_EXPLAINED, len(workload.queries))):
        clock = Clock()
        engine.query(engine.ids(workload.queries.functors_of(number)), k=K)
        took.append(clock.read()["cpu_s"] * 1000)
    return statistics.median(took)
