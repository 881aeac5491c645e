"""Answers as text for a terminal: the ranking, and under the best hit why it is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .aligned import aligned
from .calibration_text import trust_lines
from .facets import facet_lines
from .percent import percent
from .steadiness import steadiness_lines

__all__ = ["comparison_text", "query_text", "terms_text"]

_LOOK_FOR = 8  # inferences shown; the rest is counted and stands in --json
_NAME_WIDTH = 48
_LEAST_NAME = 20  # ... where a table would be wider than the terminal
_WIDE = 100
_PLACES = 3  # places of a term in a file shown, and values of an attribute; --json has them all


def query_text(answer: dict[str, Any], entity: str, facet: str = "") -> str:
    """Returns the table of hits and the account of the first one.

    Args:
        answer: the answer object.
        entity: what a record describes.
        facet: what a facet of the terms is called, where the domain has any.
    """
    lines = [_head(answer, entity), *_query_lines(answer)]
    if answer["abstained"]:
        lines += ["", f"No answer: {answer['reason']}."]
    else:
        lines += ["", *_ranking(answer, entity), *trust_lines(answer)]
        best = answer["hits"][0]
        lines += ["", *_hit_lines(answer, best, entity)]
        if best.get("facets"):
            cases = answer["records"]["cases"]
            lines += ["", *facet_lines(best, answer["names"], entity=entity, word=facet, cases=cases)]
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
    lines += aligned(["bits", "in A", "in B", "through"], rows, right={0}) if rows else ["  nothing"]
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
    lines = aligned(["id", "name", "found as"], rows, right=set())
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
    lines = _source_lines(query, names) if "from" in query else []
    excluded = [_term(u["term"], names) for u in query["used"] if u["excluded"]]
    lines += [f"excluded: {', '.join(excluded)}"] if excluded else []
    return (
        lines
        + [f"changed: {c['why']}{_at(c)}" for c in query["changed"]]
        + [f"left out: {o['why']}{_at(o)}" for o in query["left_out"]]
    )


def _source_lines(query: dict[str, Any], names: dict[str, str]) -> list[str]:
    """Returns what was read from a file: its form, and each term used with the places where it stands."""
    source = query["from"]
    title = f" {source['title']!r}" if source["title"] else ""
    lines = [f"from {source['file']} ({source['form']}{title}): {source['mentions']} mentions of {source['terms']} ids"]
    for used in query["used"]:
        if used["where"]:
            lines.append(f"  {_term(used['term'], names)}{_at(used)}")
    return lines


def _at(entry: dict[str, Any]) -> str:
    """Returns where the entry stands in the file that the query stems from, or nothing."""
    places = entry.get("where", [])
    more = len(places) - _PLACES
    return f" ({', '.join(places[:_PLACES])}{f' and {more} more' if more > 0 else ''})" if places else ""


def _hit_lines(answer: dict[str, Any], hit: dict[str, Any], entity: str) -> list[str]:
    names = answer["names"]
    width = _short if "paths" in answer else str  # long titles stand in full with the paths
    rows = [
        [
            width(_term(p["query"], names)),
            "the same" if p["query"] == p["case"] else width(_term(p["case"], names)),
            width(_way(p, p["query"] == p["case"], names)),
            str(p["distance"]),
            f"{p['bits']:.2f}",
        ]
        for p in hit["mapping"]
    ]
    lines = [f"{hit['key']} {hit['name']}".strip() + f": rank {hit['rank']}, {hit['score_bits']:.2f} bits"]
    if hit.get("twins"):
        others = " and ".join(f"{twin['key']} {twin['name']}".strip() for twin in hit["twins"])
        through = f", through {hit['same_as']}" if hit["same_as"] else ""
        lines.append(f"the same {entity} as {others}{through}; rank {hit['rank_merged']} with equivalents merged")
    if hit["ties"]:
        others = f"1 other {entity} has" if hit["ties"] == 1 else f"{hit['ties']} other {entity}s have"
        lines.append(f"{others} exactly this score; order among them is by key alone")
    lines += steadiness_lines(hit)
    if hit["attributes"]:
        lines.append(_attributes(hit["attributes"], names))
    lines += ["", *aligned(["query term", "matched term", "through", "hops", "bits"], rows, right={3, 4}), ""]
    if "paths" in answer:
        lines += [*_path_lines(hit, answer["paths"], names), ""]
    lines += _listed("unexplained", [f"{_term(u['query'], names)} ({u['bits']:.2f} bits)" for u in hit["unexplained"]])
    excluded = [_contradiction(c, names, entity) for c in hit["contradicted"]]
    lines += _listed("contradicted", excluded)
    expected = [f"{_term(i['functor'], names)} ({i['bits']:.2f} bits)" for i in hit["inferences"]]
    lines += _listed("look for next", expected[:_LOOK_FOR])
    if len(expected) > _LOOK_FOR:
        lines.append(f"  and {len(expected) - _LOOK_FOR} more; --json lists all")
    return lines


def _ranking(answer: dict[str, Any], entity: str) -> list[str]:
    """Returns the table of hits, or of the genes that they carry; places among groups where groups are known."""
    head, right = ["rank", entity, "name", "bits", "explained"], {0, 3, 4}
    rows = {
        h["key"]: [str(h["rank"]), h["key"], _short(h["name"]), f"{h['score_bits']:.2f}", percent(h["explained"])]
        for h in answer["hits"]
    }
    if answer["calibration"]:
        head, right = [*head, "confidence"], {*right, len(head)}
        for h in answer["hits"]:
            rows[h["key"]].append(f"{h['confidence']:.3f}")
    if answer["equivalents"]:
        head, right = [head[0], "merged", *head[1:]], {0, *(place + 1 for place in right)}
        for h in answer["hits"]:
            rows[h["key"]].insert(1, str(h["rank_merged"]))
    if "stability" in answer:
        head, right = [*head, "first in"], {*right, len(head)}
        for h in answer["hits"]:
            share = h["stability"]["top1"]
            rows[h["key"]].append("" if share is None else percent(share))
    if "genes" not in answer:
        return _fitted(head, list(rows.values()), right=right)
    genes = [[str(g["rank"]), g["symbol"], g["key"], *rows[g["case"]]] for g in answer["genes"]]
    head = ["rank", "gene", "id", f"{entity}'s rank", *head[1:]]
    return _fitted(head, genes, right={0, *(place + 3 for place in right)})


def _fitted(head: list[str], rows: list[list[str]], *, right: set[int]) -> list[str]:
    """Returns the table with names so short that it is not too wide for a terminal, as far as that goes."""
    lines, at = aligned(head, rows, right=right), head.index("name")
    over = max(map(len, lines)) - _WIDE
    if over <= 0:
        return lines
    width = max(max(len(row[at]) for row in rows) - over, _LEAST_NAME)
    return aligned(head, [[*row[:at], _short(row[at], width), *row[at + 1 :]] for row in rows], right=right)


def _attributes(attributes: dict[str, list[str]], names: dict[str, str]) -> str:
    """Returns what the source says of a record, such as its publications and dates, in one line."""
    parts = []
    for name, values in attributes.items():
        if name == "frequency":  # of single signs, which means nothing without them
            continue
        shown = ", ".join(_short(" ".join(_term(value, names).split())) for value in values[:_PLACES])
        more = len(values) - _PLACES
        parts.append(f"{name} {shown}{f' and {more} more' if more > 0 else ''}")
    return "; ".join(parts)


def _path_lines(hit: dict[str, Any], paths: dict[str, list[str]], names: dict[str, str]) -> list[str]:
    """Returns the ways from the top down to all that is shared, as one tree."""
    shared = sorted({p[side] for p in hit["mapping"] for side in ("query", "case")}, key=lambda t: (paths[t], t))
    lines = ["where it stands:"]
    before: list[str] = []
    for term in shared:
        path = paths[term]
        known = next(
            (i for i, (a, b) in enumerate(zip(path, before, strict=False)) if a != b), min(len(path), len(before))
        )
        lines += [f"{'  ' * (depth + 1)}{_term(path[depth], names)}" for depth in range(known, len(path))]
        before = path
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


def _short(name: str, width: int = _NAME_WIDTH) -> str:
    return name if len(name) <= width else name[: width - 3] + "..."
