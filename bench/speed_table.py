"""What a speed record comes to: the bars it is held against, and its text."""

from __future__ import annotations

from typing import Any

__all__ = [
    "ALIGNED_A_PLACE",
    "arm_cells",
    "bars",
    "few_text",
    "rate_text",
    "red_text",
    "sizes_text",
    "speed_text",
    "versions_text",
]

ALIGNED_A_PLACE = 15  # cases aligned for a proof, at the 99th percentile, for each place wanted
_BATCH_BARS = {"certified": 10_000, "bounds and selection": 20_000}  # queries a CPU second, workload w1
_TOPS = ("top1", "top5", "top10")
_SINGLE_BARS = {"w1": 1.0, "w1-1m": 10.0}  # CPU milliseconds


def bars(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns each bar of the record's workload: what it is about, the bar, what was found, whether it is met."""
    name = record["workload"]["name"]
    found = []
    if name == "w1":
        rates = {arm["name"]: arm["queries_per_cpu_s"] for arm in record["arms"]}
        for arm, least in _BATCH_BARS.items():
            what = f"{arm}: queries a CPU second, at least"
            found.append({"what": what, "bar": least, "found": rates[arm], "met": rates[arm] >= least})
    if name in _SINGLE_BARS:
        took = record["single_query_ms"]["mappings"]["median"]
        what = "one query with mappings, warm: CPU ms, below"
        found.append({"what": what, "bar": _SINGLE_BARS[name], "found": took, "met": took < _SINGLE_BARS[name]})
    return found


def speed_text(record: dict[str, Any]) -> str:
    """Returns the record as text."""
    load = record["workload"]
    lines = [
        f"{load['name']}: {load['queries']:,} queries over {load['cases']:,} cases ({load['ontology']}), "
        f"top {load['k']}; backend {record['backend']}",
        *load["notes"],
    ]
    if not record["green"]:
        return "\n".join(lines) + "\n" + red_text(record["differing"])
    lines += ["parity with the reference: green", ""]
    head = (
        "arm",
        "queries/CPU s",
        "pairs/CPU s",
        "ours is",
        "build CPU s",
        "first batch",
        "MB",
        "top 1",
        "top 5",
        "top 10",
        "queries",
    )
    rows = [
        (
            *arm_cells(arm, "-"),
            f"{arm['queries_a_round']} x {arm['rounds']}",
        )
        for arm in record["arms"]
    ]
    lines += _columns(head, rows)
    lines += [f"{arm['name']}: {arm['note']}" for arm in record["arms"] if arm["note"]]
    lines += [f"{arm['name']}: NOT the same hits twice" for arm in record["arms"] if arm["same_twice"] is False]
    lines += [f"{row['name']}: {row['reason']}" for row in record["not_run"]]
    lines += few_text(record)
    if versions_text(record):
        lines.append(f"measured: {versions_text(record)}")
    single = record["single_query_ms"]
    lines += ["", *(
        f"one query, warm, {mode}: {single[mode]['median']:.3f} CPU ms, p99 {single[mode]['p99']:.3f}"
        for mode in single
    )]  # fmt: skip
    if "explained_answer_ms" in record:
        lines.append(f"a whole answer with evidence and inferences: {record['explained_answer_ms']:.2f} CPU ms")
    lines += sizes_text(record)
    lines += ["", "cases aligned for a proof, at N = " + f"{load['cases']:,}"]
    lines += [
        f"  {row['normalisation']:10} {row['credit']:9} median {row['median']:,.0f}, p90 {row['p90']:,.0f}, "
        f"p99 {row['p99']:,.0f}, max {row['max']:,}"
        + ("" if row["p99"] <= ALIGNED_A_PLACE * load["k"] else "  above what is accepted")
        for row in record["aligned"]
    ]
    lines += [
        f"{'met' if bar['met'] else 'BELOW THE BAR'}: {bar['what']} {bar['bar']:,}, found {bar['found']:,.3f}"
        for bar in record["bars"]
    ]
    return "\n".join(lines) + "\n"


def arm_cells(arm: dict[str, Any], absent: str) -> tuple[str, ...]:
    """Returns the cells of one arm from its name to its top 10; ``absent`` stands for what it does not have."""
    first = arm["first_batch_cpu_s"]
    return (
        arm["name"],
        rate_text(arm["queries_per_cpu_s"]),
        f"{arm['pairs_per_cpu_s'] / 1e6:,.2f} M",
        _times_text(arm["ours_times_as_fast"]),
        f"{arm['build_cpu_s']:,.2f}",
        absent if first is None else f"{first:,.2f}",
        f"{arm['peak_memory_mb']:,.0f}",
        *(f"{arm[name]:.3f}" for name in _TOPS),
    )


def red_text(differing: list[str]) -> str:
    """Returns what stands in the place of speeds where arrays are not those of the reference."""
    return f"parity is RED: {', '.join(differing)} differ from the reference; no speed\n"


def sizes_text(record: dict[str, Any]) -> list[str]:
    """Returns bytes a case; and ours and the same lists under BM25, for a query and for each list entry added."""
    added = {"certified scores": record["facts"]["entries_added"]}
    added |= {arm["name"]: arm["entries_added"] for arm in record["arms"] if "entries_added" in arm}
    rates = {arm["name"]: arm["queries_per_cpu_s"] for arm in record["arms"]}
    facts = record["facts"]
    return [
        f"an index takes {facts['index_bytes_a_case']:,.0f} bytes a case, keys and ontology apart, and its "
        f"{facts['lists']} lists {facts['list_bytes_a_case']:,.0f} more",
        *(
            f"{name}: {many:,.0f} list entries a query, {many * rates[name] / 1e6:,.0f} M of them a CPU second"
            for name, many in added.items()
        ),
    ]


def few_text(record: dict[str, Any]) -> list[str]:
    """Returns, for each arm that was asked few queries, what our certified answers come to on the same."""
    return [
        f"{arm['name']} was asked {same['queries']} queries: top 1, 5, 10 of it "
        f"{', '.join(f'{arm[name]:.3f}' for name in _TOPS)}, of ours on the same "
        f"{', '.join(f'{same[name]:.3f}' for name in _TOPS)}"
        for arm in record["arms"]
        if (same := arm.get("certified_on_the_same"))
    ]


def _times_text(value: float) -> str:
    """Returns how many times as fast, in few digits."""
    return f"{value:,.0f} x" if value >= 100 else f"{value:.3g} x"


def versions_text(record: dict[str, Any]) -> str:
    """Returns the versions of what was measured beside us, in one line; empty where nothing was."""
    held = {name: version for arm in record["arms"] for name, version in arm["versions"].items()}
    return ", ".join(f"{name} {version}" for name, version in held.items())


def rate_text(value: float) -> str:
    """Returns a rate in few digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:,.2f}"


def _columns(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    return [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in (head, *rows)
    ]
