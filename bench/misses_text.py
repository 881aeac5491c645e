"""Misses as text: each with both accounts side by side, and a table of all for the page on results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .report_text import grid

__all__ = ["misses_summary", "misses_text"]

_HEAD = (
    "seed", "question", "right item", "its bits", "matched", "steps", "wrong hit", "its bits", "matched", "steps",
    "nearer", "dearer", "only wrong", "only right", "things", "reason",
)  # fmt: skip


def misses_text(record: Mapping[str, Any]) -> str:
    """Returns every miss with the accounts of the right item and of the wrong hit, as Markdown."""
    lines = _head(record)
    for table in record["tables"]:
        lines += _table_head(record, table)
        for miss in table["misses"]:
            lines += _miss(miss)
    return "\n".join(lines)


def misses_summary(record: Mapping[str, Any]) -> str:
    """Returns a line for every miss, as Markdown: what either matched, and what their difference is made of."""
    lines = _head(record)
    for table in record["tables"]:
        lines += _table_head(record, table)
        if table["misses"]:
            lines += grid(_HEAD, [_row(miss) for miss in table["misses"]])
    return "\n".join(lines)


def _head(record: Mapping[str, Any]) -> list[str]:
    quick = " (quick)" if record["quick"] else ""
    lines = [f"## Misses of {record['arm']} on {record['suite']}{quick}", ""]
    lines += [
        "A miss is a question whose first hit is wrong, or scores no better than a wrong one. The wrong hit's score "
        "less the right item's is the sum of what follows, in bits; what is above zero speaks for the wrong hit, and "
        "the greatest such part is the reason.",
        "",
    ]
    lines += [f"- *{part}*: {words}" for part, words in record["parts"].items()]
    for task, why in record["skipped"].items():
        lines += ["", f"Not run: {task}: {why}"]
    return [*lines, ""]


def _table_head(record: Mapping[str, Any], table: Mapping[str, Any]) -> list[str]:
    quick = " --quick" if record["quick"] else ""
    command = f"sma-gpu bench misses {record['suite']}{quick} --arm {record['arm']} --task {table['task']}"
    counts = [f"{count:,} because {record['reasons'][name]}" for name, count in table["reasons"].items()]
    told = f": {'; '.join(counts)}" if counts else ""
    missed = f"{len(table['misses']):,} of {table['answerable']:,} questions missed{told}."
    return [f"### Misses on {table['task']}", "", table["words"], "", f"    {command}", "", missed, ""]


def _row(miss: Mapping[str, Any]) -> list[str]:
    wrong, parts = miss["wrong"], miss["difference_bits"]
    return [
        str(miss["seed"]), miss["question"], *_cells(miss["right"]), *(_cells(wrong) if wrong else ["-"] * 4),
        *([f"{bits:+.2f}" for bits in parts.values()] if parts else ["-"] * 5), miss["reason"],
    ]  # fmt: skip


def _cells(account: Mapping[str, Any]) -> list[str]:
    return [account["key"], f"{account['score_bits']:.2f}", _matched(account), str(account["hops"])]


def _matched(account: Mapping[str, Any]) -> str:
    asked = len(account["matches"]) + len(account["unmatched"])
    relations = f", {_counted(account['relations'], 'relation')}" if account["relations"] else ""
    return f"{len(account['matches'])} of {asked}{relations}"


def _miss(miss: Mapping[str, Any]) -> list[str]:
    place = f"right item at place {miss['place']}" if miss["place"] else "right item not among the places"
    lines = [f"#### {miss['question']}, seed {miss['seed']}: {miss['reason']}; {place}", ""]
    lines += [f"    asked: {said}" for said in miss["asked"]]
    for name in ("right", "wrong"):
        if miss[name]:
            lines += ["", *_account(name, miss[name])]
    if miss["difference_bits"]:
        parts = ", ".join(f"{part} {bits:+.2f}" for part, bits in miss["difference_bits"].items() if bits)
        lines += ["", f"    {sum(miss['difference_bits'].values()):+.2f} bits for the wrong hit: {parts or 'nothing'}"]
    return [*lines, ""]


def _account(name: str, account: Mapping[str, Any]) -> Iterator[str]:
    proved = "" if account["proved"] else ", not proved best"
    yield (
        f"    {name}: {account['key']}: {account['score_bits']:.2f} bits, {account['explained']:.0%} explained, "
        f"{_matched(account)} matched, {_counted(account['things'], 'pair')} of things{proved}"
    )
    for match in account["matches"]:
        way = f"  ({_counted(match['hops'], 'step')} over {match['via']})" if match["hops"] else ""
        yield f"      {match['bits']:6.2f}  {match['asked']} -- {match['stored']}{way}"
    for one in account["unmatched"]:
        yield f"           -  {one['asked']} -- {_instead(one['like'])}"


def _instead(like: str) -> str:
    return f"no partner; its word alone could match {like}" if like else "no partner, and nothing like it is said"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
