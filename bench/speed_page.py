"""The page on speed and the README's table, out of the records: ``python -m sma_gpu.bench.speed_page ROOT``.

Reads ``ROOT/docs/measured`` and writes ``ROOT/docs/SPEED.md`` and the table in ``ROOT/README.md``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .growth import CURVES, threads_text
from .speed_table import ALIGNED_A_PLACE, arm_cells, few_text, rate_text, sizes_text, versions_text

__all__ = ["main", "page", "readme_table", "records"]

WORKLOADS = ("w1", "dev", "w1-200k", "w1-1m")
_TITLES = {
    "w1": "W1: all HPO diseases",
    "dev": "Published case reports",
    "w1-200k": "W1 over 200,000 cases",
    "w1-1m": "W1 over 1,000,000 cases",
}
_TABLE = re.compile(r"^\| what \| measured \|\n(?:\|.*\n)+", re.MULTILINE)

_OPENING = """# How fast, beside whom, and how it grows

`make bench` measures all of this and writes the records in `docs/measured/`, the drawings, this page and the table in
the README. The parts of it, for one workload, for the drawings, and for the ops alone:

    sma-gpu bench speed --workload w1 --json -o docs/measured/speed-w1.json
    sma-gpu bench speed --plots docs/images --json -o docs/measured/speed-growth.json
    sma-gpu ops bench --json -o docs/measured/ops-cpu.json
    python -m sma_gpu.bench.speed_page .

Times are CPU seconds of the process that works, all its threads (it has one), each arm in a process of its own. Arms
take turns: a round asks each of them once, and what is shown is the median over the rounds. The machine was busy with
other work to a degree that differs from run to run, so compare within a table. Before anything is timed, all arrays
of our hits, mappings included, are compared with those of the reference; where a bit differs, no speed is told. No
GPU figure: none has been measured.
"""

_ARMS = """
## What the arms are

- *certified*: `index.retrieve(batch, 10, mappings=True)`, the top 10 proved to be that of scoring every case by its
  best mapping, with the canonical mapping of every hit. *certified scores*: without the mappings. *bounds and
  selection*: the bound of every case and the 64 best by it, which proves nothing yet. *reference*: the same answer by
  NumPy and SciPy.
- *our lists, BM25*: like for like with bm25s: its words (terms with all their ancestors), its weights and sums, in
  our lists and loops. It adds many times as many numbers a query as structure mapping does, each sooner.
- *scipy*: simGIC. *sparse_dot_topn*: cosine of information content. *bm25s*: BM25, its numba backend. *faiss*: flat
  inner product over mean MiniLM vectors of the terms' names. *hpo3*: Resnik with funSimAvg, every pair. All of them
  over terms with all their ancestors, but the last two, which need none.
- *structuremappingmemory*: the published system, shortlist of 80, nothing proved; without its novelty pool, which
  takes no part in a ranking and many minutes to fill. It remembers queries, so each round asks others, as hpo3 is
  asked too.
- *build*: from packed cases in memory to an index that answers; *first batch*: the first time that it is asked, which
  for some starts compilers and makes lists. Making the MiniLM vectors is in neither. *MB*: peak of the whole process,
  imports and the workload included.
- *top 1, 5, 10*: share of queries whose own case is among so many hits. W1 is made up by a recipe that suits matching
  term by term; the case reports are not. The default dials of the library (`ic`), tuned for neither.

Peers come with `pip install 'sma_gpu[peers]'`, and hpo3 into a folder of its own (`--hpo3 DIR`), since its module has
the name of another's.
"""


def records(folder: Path) -> dict[str, dict[str, Any]]:
    """Returns the records in a folder by name, those that are there."""
    names = [*(f"speed-{name}" for name in WORKLOADS), "speed-growth", "ops-cpu"]
    return {
        name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in names
        if (folder / f"{name}.json").is_file()
    }


def page(found: dict[str, dict[str, Any]]) -> str:
    """Returns the page."""
    parts = [_OPENING]
    speeds = {name: found[f"speed-{name}"] for name in WORKLOADS if f"speed-{name}" in found}
    for name, record in speeds.items():
        parts.append(f"\n## {_TITLES[name]}\n\n{_workload(record)}")
    missing = [_TITLES[name] for name in WORKLOADS if name not in speeds]
    if missing:
        parts.append(f"\nNot measured: {'; '.join(missing)}.\n")
    parts.append(_aligned(speeds.values()))
    if "speed-growth" in found:
        parts.append(_growth(found["speed-growth"]))
    if "ops-cpu" in found:
        parts.append(_ops(found["ops-cpu"]))
    parts.append(_ARMS)
    return "".join(parts)


def readme_table(record: dict[str, Any]) -> str:
    """Returns the table of the README, out of the record of the workload ``w1``."""
    arms = {arm["name"]: arm for arm in record["arms"]}
    single, load = record["single_query_ms"], record["workload"]
    (aligned,) = (
        row for row in record["aligned"]
        if (row["normalisation"], row["credit"]) == (record["dials"]["normalisation"], record["dials"]["credit"])
    )  # fmt: skip
    asked = f"queries of eight terms a CPU second, top {load['k']} of {load['cases']:,} diseases"
    rows = [
        ("what", "measured"),
        ("---", "---:"),
        (f"certified, with mappings for the hits: {asked}", rate_text(arms["certified"]["queries_per_cpu_s"])),
        ("the same without mappings", rate_text(arms["certified scores"]["queries_per_cpu_s"])),
        ("the same by the reference", rate_text(arms["reference"]["queries_per_cpu_s"])),
        ("one query, warm, with mappings: CPU milliseconds", f"{single['mappings']['median']:.2f}"),
        (
            "a whole answer, with evidence and inferences: CPU milliseconds",
            f"{record['explained_answer_ms']:.1f}",
        ),
        (
            "cases aligned to prove a top 10 (median, 99th percentile, most)",
            f"{aligned['median']:.0f}, {aligned['p99']:.0f}, {aligned['max']}",
        ),
        ("index built: CPU seconds", f"{arms['certified']['build_cpu_s']:.2f}"),
        ("peak memory of the process: MB", f"{arms['certified']['peak_memory_mb']:.0f}"),
    ]
    return _rows(rows)


def _workload(record: dict[str, Any]) -> str:
    load = record["workload"]
    terms = f"{load['terms_median']:g} terms each" + ("" if load["name"] != "dev" else " in the middle")
    lines = [
        f"{load['queries']:,} queries of {terms} over {load['cases']:,} cases ({load['ontology']}), "
        f"top {load['k']}, seed {load['seed']}. Of our answers to the {record['facts']['queries']:,} asked, "
        f"{record['facts']['certified']:,} are certified."
    ]
    if load["notes"]:
        lines.append("; ".join(load["notes"]).capitalize() + ".")
    lines += [
        "",
        _rows([
            ("arm", "queries a CPU s", "pairs a CPU s", "ours is", "build, CPU s", "first batch, CPU s", "MB",
             "top 1", "top 5", "top 10", "asked"),
            ("---", *["--:"] * 10),
            *(
                (
                    *arm_cells(arm, ""),
                    f"{arm['queries_a_round']:,} x {arm['rounds']}",
                )
                for arm in record["arms"]
            ),
        ]).rstrip("\n"),
        "",
    ]  # fmt: skip
    single = record["single_query_ms"]
    lines.append(
        f"- One query, warm: {single['mappings']['median']:.3f} CPU ms with mappings (99th percentile "
        f"{single['mappings']['p99']:.3f}), {single['scores']['median']:.3f} without."
    )
    lines += [f"- {line[0].upper()}{line[1:]}." for line in sizes_text(record)]
    lines += [f"- {arm['name']}: {arm['note']}." for arm in record["arms"] if arm["note"]]
    lines += [f"- {arm['name']}: not the same hits twice." for arm in record["arms"] if arm["same_twice"] is False]
    lines += [f"- {row['name']}: {row['reason']}." for row in record["not_run"]]
    lines += [f"- {line}." for line in few_text(record)]
    if versions_text(record):
        lines.append(f"- Versions: {versions_text(record)}.")
    lines += [f"- {'Met' if bar['met'] else 'Below the bar'}: {bar['what']} {bar['bar']:,}." for bar in record["bars"]]
    return "\n".join(lines) + "\n"


def _aligned(found: Iterable[dict[str, Any]]) -> str:
    rows = [("normalisation", "credit", "N", "median", "p90", "p99", "most", "certified", "p99 accepted"),
            ("---", "---", *["--:"] * 7)]  # fmt: skip
    for record in found:
        rows += [
            (
                row["normalisation"], row["credit"], f"{record['workload']['cases']:,} ({record['workload']['name']})",
                *(f"{row[name]:,.0f}" for name in ("median", "p90", "p99", "max")),
                f"{row['certified']:,}", "yes" if row["p99"] <= ALIGNED_A_PLACE * record["workload"]["k"] else "no",
            )
            for row in record["aligned"]
        ]  # fmt: skip
    return (
        "\n## Cases aligned for a proof\n\n"
        f"How many cases an answer's proof has to align, by their bounds alone; accepted up to {ALIGNED_A_PLACE} "
        f"for each place wanted, at the 99th percentile.\n\n{_rows(rows)}"
    )


def _growth(record: dict[str, Any]) -> str:
    drawings = [
        f"![CPU milliseconds of a query by {words}](images/speed-by-{name.replace('_', '-')}.svg)"
        for name, words in CURVES.items()
    ]
    points = [
        (CURVES[name], f"{point['at']:,}", f"{point['cpu_ms']:.4f}", f"{point['peak_memory_mb']:,.0f}")
        for name, curve in record["curves"].items()
        for point in curve
    ]
    rows = [("over", "at", "CPU ms a query", "MB"), ("---", "--:", "--:", "--:"), *points]
    return (
        "\n## How the cost grows\n\n"
        f"Certified top {10} with mappings, one thing changed at a time, the rest as in W1 ("
        f"{record['cases_unless_told']:,} cases, queries of eight terms, delta 2). Queries and cases of a given size "
        "are drawn term by term, each as often as the diseases have it.\n\n"
        + "\n".join(drawings)
        + f"\n\n{_rows(rows)}\n{threads_text(record).capitalize()}.\n"
    )


def _ops(record: dict[str, Any]) -> str:
    rows = [("cases", "queries", "op", "CPU ms", "least MB", "times the floor"), ("--:", "--:", "---", *["--:"] * 3)]
    rows += [
        (
            f"{problem['cases']:,} ({problem['records']})", str(problem["queries"]), name, f"{stage['median_ms']:.2f}",
            f"{stage['bytes'] / 1e6:,.1f}" if stage["bytes"] else "",
            f"{stage['times_floor']:,.1f}" if stage["bytes"] else "",
        )
        for problem in record["problems"]
        for name, stage in problem["stages"].items()
    ]  # fmt: skip
    return (
        "\n## The ops, and their distance from the floor\n\n"
        f"Backend {record['backend']}. The floor is what an op must read and write at least, over the bandwidth of a "
        f"plain copy in the same run ({record['copy_bytes_per_s'] / 1e9:.0f} GB/s). *top* is the whole answer in one "
        f"call, as retrieval asks for it.\n\n{_rows(rows)}"
    )


def _rows(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main(arguments: list[str]) -> int:
    """Writes page and table; returns the exit status."""
    root = Path(arguments[0] if arguments else ".")
    found = records(root / "docs" / "measured")
    (root / "docs" / "SPEED.md").write_text(page(found), encoding="utf-8")
    readme = root / "README.md"
    text, replaced = _TABLE.subn(lambda _: readme_table(found["speed-w1"]), readme.read_text(encoding="utf-8"))
    if replaced != 1:
        print(
            f"speed page: {readme} has {replaced} tables headed | what | measured |, where one is wanted",
            file=sys.stderr,
        )
        return 1
    readme.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
