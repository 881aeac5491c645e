"""Answers as text for a terminal: the ranking, and under the best hit why it is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["comparison_text", "query_text", "terms_text"]

_LOOK_FOR = 8  # inferences shown; the rest is counted and stands in --json
_NAME_WIDTH = 48


def query_text(answer: dict[str, Any], entity: str) -> str:
    """Returns the table of hits and the account of the first one; ``entity`` is what a record describes."""
    lines = [_head(answer, entity), *_query_lines(answer)]
    if answer["abstained"]:
        lines += ["", f"No answer: {answer['reason']}."]
    else:
        rows = [
            [str(h["rank"]), h["key"], _short(h["name"]), f"{h['score_bits']:.2f}", f"{h['explained']:.0%}"]
            for h in answer["hits"]
        ]
        lines += ["", *_table(["rank", entity, "name", "bits", "explained"], rows, right={0, 3, 4})]
        lines += ["", *_hit_lines(answer, answer["hits"][0], entity)]
    return "\n".join([*lines, "", *_note_lines(answer)]) + "\n"


def comparison_text(comparison: dict[str, Any], entity: str) -> str:
    """Returns what two records share and what only one has, most telling first."""
    names = comparison["names"]
    a, b = comparison["a"], comparison["b"]
    lines = [f"{side} = {c['key']} {c['name']}: {c['terms']} terms" for side, c in (("A", a), ("B", b))]
    lines += ["", f"shared, {comparison['score_bits']:.2f} bits with the pair of {entity}s itself"]
    rows = [
        [
            f"{p['bits']:.2f}",
            _term(p["a"], names),
            "the same" if p["a"] == p["b"] else _term(p["b"], names),
            _way(p, p["a"] == p["b"], names),
        ]
        for p in comparison["shared"]
    ]
    lines += _table(["bits", "in A", "in B", "through"], rows, right={0}) if rows else ["  nothing"]
    for side, title in (("only_a", "only in A"), ("only_b", "only in B")):
        lines += ["", f"{title} ({len(comparison[side])})"]
        lines += [f"  {t['bits']:6.2f}  {_term(t['term'], names)}" for t in comparison[side]] or ["  nothing"]
    if comparison["contradicted"]:
        lines += ["", "contradicted"]
        for c in comparison["contradicted"]:
            has, lacks = ("B", "A") if c["ruled_out_by"] == "query" else ("A", "B")
            there, ruled_out = (c["case"], c["query"]) if has == "B" else (c["query"], c["case"])
            lines.append(f"  {has} has {_term(there, names)}, which {lacks} excludes" + _as(there, ruled_out, names))
    return "\n".join([*lines, "", *(f"Note: {n}" for n in comparison["notes"])]) + "\n"


def terms_text(found: dict[str, Any]) -> str:
    """Returns the table of a term search."""
    if not found["matches"]:
        return f"No name or synonym in {found['ontology']} contains {found['text']!r}.\n"
    rows = [
        [m["id"], m["name"], "" if m["matched"] == m["name"] else f"{m['matched']} ({m['scope'].lower()})"]
        for m in found["matches"]
    ]
    lines = _table(["id", "name", "found as"], rows, right=set())
    more = found["total"] - len(rows)
    return "\n".join(lines + ([f"and {more} more; -k shows more"] if more else [])) + "\n"


def _head(answer: dict[str, Any], entity: str) -> str:
    ontology, records, dials = answer["ontology"], answer["records"], answer["dials"]
    cases = f"{records['cases']} {entity}s"
    return (
        f"{_release(ontology['name'], ontology['version'])}, {_release(cases, records['version'], ' of ')}; "
        f"{dials['scorer']}, {dials['credit']} credit, {dials['normalisation']}; backend {answer['backend']}; "
        f"{'certified' if answer['certified'] else 'not certified'}, {answer['aligned']} aligned"
    )


def _release(what: str, version: str, between: str = " ") -> str:
    return f"{what}{between}{version}" if version else what


def _query_lines(answer: dict[str, Any]) -> list[str]:
    query, names = answer["query"], answer["names"]
    excluded = [_term(u["term"], names) for u in query["used"] if u["excluded"]]
    lines = [f"excluded: {', '.join(excluded)}"] if excluded else []
    return (
        lines
        + [f"changed: {c['why']}" for c in query["changed"]]
        + [f"left out: {o['why']}" for o in query["left_out"]]
    )


def _hit_lines(answer: dict[str, Any], hit: dict[str, Any], entity: str) -> list[str]:
    names = answer["names"]
    rows = [
        [
            _term(p["query"], names),
            "the same" if p["query"] == p["case"] else _term(p["case"], names),
            _way(p, p["query"] == p["case"], names),
            str(p["distance"]),
            f"{p['bits']:.2f}",
        ]
        for p in hit["mapping"]
    ]
    lines = [f"{hit['key']} {hit['name']}: rank {hit['rank']}, {hit['score_bits']:.2f} bits"]
    if hit["ties"]:
        others = f"1 other {entity} has" if hit["ties"] == 1 else f"{hit['ties']} other {entity}s have"
        lines.append(f"{others} exactly this score; order among them is by key alone")
    lines += ["", *_table(["query term", "matched term", "through", "hops", "bits"], rows, right={3, 4}), ""]
    lines += _listed("unexplained", [f"{_term(u['query'], names)} ({u['bits']:.2f} bits)" for u in hit["unexplained"]])
    excluded = [_contradiction(c, names, entity) for c in hit["contradicted"]]
    lines += _listed("contradicted", excluded)
    expected = [f"{_term(i['functor'], names)} ({i['bits']:.2f} bits)" for i in hit["inferences"]]
    lines += _listed("look for next", expected[:_LOOK_FOR])
    if len(expected) > _LOOK_FOR:
        lines.append(f"  and {len(expected) - _LOOK_FOR} more; --json lists all")
    return lines


def _contradiction(found: dict[str, Any], names: dict[str, str], entity: str) -> str:
    query, case = _term(found["query"], names), _term(found["case"], names)
    if found["ruled_out_by"] == "query":
        return f"the {entity} has {case}, which the query excludes" + _as(found["case"], found["query"], names)
    return f"the query has {query}, which the {entity} excludes" + _as(found["query"], found["case"], names)


def _as(there: str, ruled_out: str, names: dict[str, str]) -> str:
    return "" if there == ruled_out else f" as {_term(ruled_out, names)}"


def _note_lines(answer: dict[str, Any]) -> list[str]:
    return [f"Note: {n}" for n in answer["notes"]]


def _listed(title: str, items: Sequence[str]) -> list[str]:
    return [f"{title}: nothing"] if not items else [f"{title}:", *(f"  {item}" for item in items)]


def _way(pair: dict[str, Any], same: bool, names: dict[str, str]) -> str:  # noqa: FBT001
    return "" if same else _term(pair["via"], names)


def _term(term: str, names: dict[str, str]) -> str:
    return f"{term} {names.get(term, '')}".strip()


def _short(name: str) -> str:
    return name if len(name) <= _NAME_WIDTH else name[: _NAME_WIDTH - 3] + "..."


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: set[int]) -> list[str]:
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = []
    for row in (head, *rows):
        cells = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines
