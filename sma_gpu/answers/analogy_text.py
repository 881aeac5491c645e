"""An analogy in words for a terminal: what corresponds, what follows, what differs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..cases.model import Case, Entity, Statement
from ..retrieval.analogy import Analogy, CandidateInference, Correspondence
from ..scoring import to_bits
from .analogy_forest import Forest, item_text

__all__ = ["analogy_text", "case_title", "standing"]

_SHOWN = (
    8  # of inferences, differences and one-sided statements each; the rest is counted and stands in the JSON answer
)
_COLUMN = 44  # widest left column of a table; a longer text takes a line of its own


def analogy_text(analogy: Analogy, names: Mapping[str, str] | None = None, notes: Sequence[str] = ()) -> str:
    """Returns the account of ``analogy``, lines of text, the last one ended.

    Args:
        analogy: what to tell.
        names: names of predicates by id, those of ``analogy_names``.
        notes: sentences to put at the end.
    """
    blocks = [_head(analogy)]
    if analogy.mapping:
        blocks += [_entities(analogy), _statements(analogy)]
    elif analogy.optimal:
        blocks.append(["Nothing corresponds: no two statements have the same or a related predicate and fit together."])
    else:
        blocks.append(["Nothing was found to correspond within the budget."])
    blocks += [_inferences(analogy.inferences), _alignable(analogy)]
    blocks += [
        _one_sided("only in the base", analogy.base_only),
        _one_sided("only in the target", analogy.target_only),
        _contradictions(analogy),
        _names(names or {}),
        [f"Note: {note}" for note in notes],
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def case_title(case: Case) -> str:
    """Returns what to call ``case``: its name, or its key where it has none."""
    return case.name or case.key or "unnamed"


def standing(analogy: Analogy) -> str:
    """Returns one line: the score, the share explained, and how far that is proved."""
    if not analogy.mapping and analogy.optimal:
        return "0.00 bits: nothing corresponds, proved"
    score = f"{to_bits(analogy.score):.2f} bits, {analogy.explained:.0%} of the target explained"
    if analogy.optimal:
        return f"{score}, proved best"
    return f"{score}, not proved best: at most {_gap(analogy)} bits more are possible"


def _gap(analogy: Analogy) -> str:
    return f"{math.ceil(to_bits(analogy.bound - analogy.score) * 100) / 100:.2f}"  # up, so that "at most" stays true


def _head(analogy: Analogy) -> list[str]:
    lines = [_side("base", analogy.base), _side("target", analogy.target), f"score  {standing(analogy)}"]
    if not analogy.optimal:
        lines.append(f"       The search stopped after {analogy.nodes} nodes; --nodes raises this budget.")
    elif not analogy.canonical:
        lines.append("       Other mappings may score the same; which of the best ones comes first was not settled.")
    return lines


def _side(side: str, case: Case) -> str:
    named = f" ({case.name})" if case.name and case.name != case.key else ""
    return f"{side:<6} {case.key or 'unnamed'}{named}: {_counted(sum(1 for _ in case.walk()), 'statement')}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _entities(analogy: Analogy) -> list[str]:
    pairs = [c for c in analogy.mapping if isinstance(c.base, Entity)]
    if not pairs:
        return []
    left = min(_COLUMN, max(len(item_text(c.base)) for c in pairs))
    right = max(len(item_text(c.target)) for c in pairs)
    lines = [f"entities ({len(pairs)})"]
    for c in pairs:
        free = "" if c.grounded else "  free"
        lines.append(f"  {item_text(c.base).ljust(left)} -> {item_text(c.target).ljust(right)}{free}".rstrip())
    if not all(c.grounded for c in pairs):
        lines.append("  free: no matched statement speaks of the two; other pairs of free entities score the same")
    return lines


def _statements(analogy: Analogy) -> list[str]:
    """Returns the pairs of statements as trees, the most telling first; arguments stand below their statement."""
    pairs = {c.target: c for c in analogy.mapping if isinstance(c.target, Statement)}
    if not pairs:
        return []
    rows = Forest(s for s in analogy.target.walk() if s in pairs).rows(lambda s: -pairs[s].value)
    texts = [(pairs[s], "  " * depth + item_text(pairs[s].base)) for s, depth in rows]
    left = max((len(text) for _, text in texts if len(text) <= _COLUMN), default=0)
    lines = [f"statements ({len(pairs)}), by bits"]
    for c, text in texts:
        start = f"  {to_bits(c.value):6.2f}  "
        arrow = f"-> {item_text(c.target)}{_way(c)}"
        if len(text) <= left:
            lines.append(f"{start}{text.ljust(left)} {arrow}")
        else:
            indent = len(text) - len(text.lstrip())
            lines += [f"{start}{text}", " " * (len(start) + indent) + arrow]
    return lines


def _way(pair: Correspondence) -> str:
    return f"  through {pair.via}, {_counted(pair.distance, 'step')}" if pair.distance else ""


def _inferences(inferences: Sequence[CandidateInference]) -> list[str]:
    items = []
    for i in inferences:
        unknown = ", ".join(dict.fromkeys(item_text(e) for e in i.skolems))
        made_up = f"; unknown: {unknown}" if unknown else ""
        bits = f"{to_bits(i.value):.2f} bits, resting on {to_bits(i.support):.2f}{made_up}"
        items.append(f"{item_text(i.statement)}  ({bits})")
    return _listed("the target may also have", items)


def _alignable(analogy: Analogy) -> list[str]:
    items = [
        f"{item_text(d.base)} -- {item_text(d.target)}" + (f"  (each a {d.via})" if d.via else "")
        for d in analogy.alignable
    ]
    return _listed("different in the same place, base -- target", items)


def _one_sided(title: str, statements: Sequence[Statement]) -> list[str]:
    return _listed(title, [item_text(s) for s in statements])


def _contradictions(analogy: Analogy) -> list[str]:
    items = [f"the base has {item_text(b)}, the target has {item_text(t)}" for b, t in analogy.contradicted]
    return [f"contradicted ({len(items)})", *(f"  {item}" for item in items)] if items else []


def _names(names: Mapping[str, str]) -> list[str]:
    width = max(map(len, names), default=0)
    return ["names", *(f"  {term.ljust(width)}  {names[term]}" for term in sorted(names))] if names else []


def _listed(title: str, items: Sequence[str]) -> list[str]:
    if not items:
        return [f"{title}: nothing"]
    lines = [f"{title} ({len(items)})", *(f"  {item}" for item in items[:_SHOWN])]
    more = len(items) - _SHOWN
    return [*lines, f"  and {more} more; --json lists all"] if more > 0 else lines
