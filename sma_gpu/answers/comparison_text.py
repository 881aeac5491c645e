"""The comparison of two batches as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["batch_comparison_text"]

_QUERIES = 20  # moved queries shown; --json lists all
_MOVES = 6  # moves shown of each


def batch_comparison_text(found: Mapping[str, Any]) -> str:
    """Returns the comparison that ``compare_batches`` made, as text."""
    earlier, places = found["earlier"], found["places"]
    release = f"release {earlier['release']}" if earlier["release"] else "release not known"
    lines = [
        f"{earlier['file']}: {earlier['answers']} answers, {release}; now {found['now']['answers']}, release "
        f"{found['now']['release']}; the first {places} hits of each are compared"
        if places
        else f"{earlier['file']}: {earlier['answers']} answers, none with a hit, {release}"
    ]
    for name, title in (("only_earlier", "only in the earlier batch"), ("only_now", "only now")):
        if found[name]:
            lines.append(f"{title}: {_some(found[name])}")
    if found["nameless"]:
        lines.append(f"not compared, since they have no id: {found['nameless']} failed records")
    lines.append("")
    lines += [_differs(factor, shown) for factor, shown in found["differs"].items()]
    if found["code"] == "unknown":
        lines.append("code: not known, since the file of the run is not beside the answers")
    if not found["differs"] and found["code"] == "same":
        lines.append("nothing differs in what the answers are made of")
    lines += [
        "",
        f"{found['same']} the same, {found['scores_alone']} with other scores alone, {found['moved']} moved, "
        f"{found['top_moved']} of them at the top",
    ]
    for entry in found["through"]:
        lines.append(f"  {entry['queries']} through {_through(entry['factors'], entry['told_apart'])}")
    for row in found["queries"][:_QUERIES]:
        lines += ["", *_query_lines(row)]
    if len(found["queries"]) > _QUERIES:
        lines += ["", f"and {len(found['queries']) - _QUERIES} more; --json lists all"]
    return "\n".join(lines) + "\n"


def _differs(factor: str, shown: list[str]) -> str:
    if factor == "query":
        return "query: other ids were asked"
    more = f" and {len(shown) - 1} more" if len(shown) > 1 else ""
    return f"{factor}: {shown[0]}{more}"


def _through(factors: list[str], told_apart: bool) -> str:  # noqa: FBT001
    return " and ".join(factors) if told_apart else f"{', '.join(factors)} (not told apart)"


def _query_lines(row: Mapping[str, Any]) -> list[str]:
    top = f"{row['top_earlier'] or row['status_earlier']} -> {row['top_now'] or row['status_now']}"
    if row["top_earlier"] == row["top_now"]:
        top = f"still {row['top_now'] or row['status_now']}"
    lines = [f"{row['id']}: {top}; through {_through(row['through'], row['told_apart'])}: {row['basis']}"]
    lines += [f"  {entry['factor']}: {entry['what']}" for entry in row["evidence"]]
    for move in row["moves"][:_MOVES]:
        was = "new" if move["earlier"] is None else str(move["earlier"])
        now = "gone" if move["now"] is None else str(move["now"])
        lines.append(f"  {was:>5} -> {now:5} {move['key']} {move['name']}".rstrip())
    if len(row["moves"]) > _MOVES:
        lines.append(f"  and {len(row['moves']) - _MOVES} more; --json lists all")
    return lines


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _QUERIES} more" if len(names) > _QUERIES else ""
    return ", ".join(names[:_QUERIES]) + more
