"""Speed and memory of the CPU backends on all HPO diseases: ``python -m sma_gpu.bench.speed``.

Prints one JSON object. Queries follow the published recipe (five terms of a disease, each climbed 0 to 2 levels, three
of noise). CPU seconds are those of the whole process, all threads; memory is the peak of the process.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import resource
import statistics
import time
from importlib.metadata import version

import numpy as np

from ..answers import Engine
from ..cases import CaseBatch
from ..ontologies.domains import open_domain
from ..ops import backends
from ..scoring import Dials

__all__ = ["main"]

_COMPARED = ("cases", "score_q", "limit_q", "rank_keys", "rank", "certified", "aligned")
_EXPLAINED = 50  # queries that are also answered in full: hits with mapping, evidence, inferences


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("-k", type=int, default=10)
    arguments = parser.parse_args()

    loading = _Clock()
    domain = open_domain("medicine")
    load = loading.read()
    building = _Clock()
    engine = Engine(domain)
    build = building.read()
    queries = hard_queries(engine, arguments.queries, random.Random(arguments.seed))
    batch = CaseBatch.from_functors([str(i) for i in range(len(queries))], queries)

    singles = []
    for number in range(len(batch)):
        clock = _Clock()
        engine.index.retrieve(batch.take([number]), arguments.k, backend="reference")
        singles.append(clock.read())
    batches = {name: _batch_rate(engine, batch, arguments.k, name) for name in ("reference", "cpu")}
    hits = engine.index.retrieve(batch, arguments.k, backend="reference")
    explained = []
    for query in queries[:_EXPLAINED]:
        clock = _Clock()
        engine.query(engine.ids(query), k=arguments.k)
        explained.append(clock.read())
    print(
        json.dumps(
            {
                "cases": len(engine.index),
                "queries": len(batch),
                "terms_median": statistics.median(len(q) for q in queries),
                "k": arguments.k,
                "dials": Dials().as_dict(),
                "backend_of_single_queries": hits.backend,
                "load_s": load,
                "build_s": build,
                "single_query_s": {
                    "cpu_median": statistics.median(s["cpu"] for s in singles),
                    "cpu_p95": sorted(s["cpu"] for s in singles)[int(0.95 * (len(singles) - 1))],
                    "wall_median": statistics.median(s["wall"] for s in singles),
                },
                "explained_answer_s": {"cpu_median": statistics.median(s["cpu"] for s in explained)},
                "batch_queries_per_cpu_s": batches,
                "aligned": {
                    "median": int(np.median(hits.aligned)),
                    "p99": int(np.percentile(hits.aligned, 99)),
                    "max": int(hits.aligned.max()),
                },
                "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "python": platform.python_version(),
                "numpy": version("numpy"),
                "scipy": version("scipy"),
                "machine": platform.machine(),
            },
            indent=1,
        )
    )


def hard_queries(engine: Engine, count: int, rng: random.Random) -> list[list[int]]:
    """Returns queries of eight terms at most: five of a disease, climbed 0 to 2 levels, and three of noise."""
    ontology = engine.domain.mounted.ontology
    cases = engine.index.cases
    eligible = [i for i in range(len(cases)) if len(cases.functors_of(i)) >= 5]
    pool = np.flatnonzero(np.diff(engine.index.posting_ptr)).tolist()
    found = []
    for _ in range(count):
        terms = []
        for functor in rng.sample(cases.functors_of(rng.choice(eligible)).tolist(), 5):
            for _ in range(rng.choice([0, 0, 1, 1, 2])):
                above = ontology.parents_of(functor).tolist()
                functor = rng.choice(above) if above else functor
            terms.append(functor)
        found.append(sorted({*terms, *rng.sample(pool, 3)}))
    return found


def _batch_rate(engine: Engine, batch: CaseBatch, k: int, backend: str) -> float | None:
    """Returns queries a CPU second of one backend, the middle one of five batches; None if it cannot serve.

    Raises:
        SystemExit: its hits are not those of the reference; then there is no speed to tell.
    """
    if backend in {b.name for b in backends() if b.missing()}:
        return None
    wanted = engine.index.retrieve(batch, k, backend="reference")
    hits = engine.index.retrieve(batch, k, backend=backend)  # the first batch starts the backend
    if not all(np.array_equal(getattr(hits, f), getattr(wanted, f)) for f in _COMPARED):
        raise SystemExit(f"the hits of {backend} are not those of the reference")
    times = []
    for _ in range(5):
        clock = _Clock()
        engine.index.retrieve(batch, k, backend=backend)
        times.append(clock.read()["cpu"])
    return len(batch) / statistics.median(times)


class _Clock:
    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def read(self) -> dict[str, float]:
        return {"cpu": time.process_time() - self._cpu, "wall": time.perf_counter() - self._wall}


if __name__ == "__main__":
    main()
