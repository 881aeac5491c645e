"""An analogy in words for a terminal: what corresponds, what follows, what differs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ..cases.model import Case, Entity, Statement
from ..cases.spelling import short_name
from ..retrieval.analogy import Analogy, CandidateInference, Correspondence, Difference
from ..scoring import to_bits
from .analogy_forest import Forest, Lines, exclusions, one_line, shared_words
from .percent import percent

__all__ = ["analogy_text", "case_title", "standing", "worthless"]

_SHOWN = (
    8  # of inferences, differences and one-sided statements each; the rest is counted and stands in the JSON answer
)
_COLUMN = 44  # widest left column of a table; a longer text takes a line of its own
_MOST_INDENTS = 20
_NOTE = 2000  # most characters of a note
_NAMED = 5  # predicates that are named in a sentence
_LIGHT = 2.0**-12  # weights below this can make a statement worth nothing

_T = TypeVar("_T")


def analogy_text(analogy: Analogy, names: Mapping[str, str] | None = None, notes: Sequence[str] = ()) -> str:
    """Returns the account of ``analogy``, lines of text, the last one ended.

    Args:
        analogy: what to tell.
        names: names of predicates by id, those of ``analogy_names``.
        notes: sentences to put at the end.
    """
    line = Lines()
    excluded = exclusions(analogy)
    blocks = [_head(analogy)]
    if analogy.mapping:
        blocks += [_entities(analogy, line), _statements(analogy, line)]
    elif analogy.optimal:
        nothing = "Nothing corresponds: no two statements have the same or a related predicate and fit together."
        blocks.append([worthless(analogy) or nothing])
    else:
        blocks.append(["Nothing was found to correspond within the budget."])
    blocks += [
        *_inferences(analogy, line, excluded[1]),
        _alignable(analogy, line),
        _one_sided("only in the base", analogy.base_only, line),
        _one_sided("only in the target", analogy.target_only, line),
        _contradictions(analogy, line, excluded),
        _names(names or {}),
    ]
    cut = f"What is longer than {line.limit} characters is cut and ends in three full stops; --json has more of it."
    blocks.append([f"Note: {one_line(note, _NOTE)}" for note in (*notes, *([cut] if line.cut else []))])
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def case_title(case: Case) -> str:
    """Returns what to call ``case``: its name, or its key where it has none."""
    return one_line(case.name or case.key or "unnamed")


def worthless(analogy: Analogy) -> str:
    """Returns a sentence where nothing corresponds for want of worth, not of likeness, and else nothing."""
    scorer = analogy.dials.scorer
    if analogy.mapping or not analogy.optimal:
        return ""
    sides = [list(case.walk()) for case in (analogy.base, analogy.target)]
    if scorer == "unit" and all(s.weight >= _LIGHT for side in sides for s in side):
        return ""
    base, target = ({(s.functor.id, s.negated) for s in side} for side in sides)
    shared = sorted({functor for functor, _ in base & target})
    if shared and not analogy.self_base:
        more = len(shared) - _NAMED
        named = ", ".join(one_line(short_name(f)) for f in shared[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        what = f"what the two share ({named}) is worth 0 bits"
    else:
        what = "no two statements that fit together are worth anything"
    why = "small weights count for nothing"
    if scorer != "unit":
        why = "one case is no corpus to count in, and the scorer unit gives every statement 1 bit"
    return f"Nothing counts: under these dials (scorer {scorer}) {what}; {why}."


def standing(analogy: Analogy) -> str:
    """Returns one line: the score, the share explained, and how far that is proved."""
    if not analogy.mapping and analogy.optimal:
        return f"0.00 bits: nothing {'counts under these dials' if worthless(analogy) else 'corresponds'}, proved"
    score = f"{to_bits(analogy.score):.2f} bits, {percent(analogy.explained)} of the target explained"
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
    named = f" ({one_line(case.name)})" if case.name and case.name != case.key else ""
    return f"{side:<6} {one_line(case.key or 'unnamed')}{named}: {_counted(sum(1 for _ in case.walk()), 'statement')}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _entities(analogy: Analogy, line: Lines) -> list[str]:
    pairs = [c for c in analogy.mapping if isinstance(c.base, Entity)]
    if not pairs:
        return []
    texts = [(line(c.base), line(c.target)) for c in pairs]
    left, right = (min(_COLUMN, max(len(text[side]) for text in texts)) for side in (0, 1))
    lines = [f"entities ({len(pairs)})"]
    for c, (base, target) in zip(pairs, texts, strict=True):
        free = "" if c.grounded else "  free"
        lines.append(f"  {base.ljust(left)} -> {target.ljust(right)}{free}".rstrip())
    if not all(c.grounded for c in pairs):
        lines.append("  free: no matched statement speaks of the two; other pairs of free entities score the same")
    return lines


def _statements(analogy: Analogy, line: Lines) -> list[str]:
    """Returns the pairs of statements as trees, the most telling first; arguments stand below their statement."""
    pairs = {c.target: c for c in analogy.mapping if isinstance(c.target, Statement)}
    if not pairs:
        return []
    rows = Forest(s for s in analogy.target.walk() if s in pairs).rows(lambda s: -pairs[s].value)
    texts = [(pairs[s], "  " * min(depth, _MOST_INDENTS) + line(pairs[s].base)) for s, depth in rows]
    left = max((len(text) for _, text in texts if len(text) <= _COLUMN), default=0)
    lines = [f"statements ({len(pairs)}), by bits"]
    for c, text in texts:
        start = f"  {to_bits(c.value):6.2f}  "
        arrow = f"-> {line(c.target)}{_way(c)}"
        if len(text) <= left:
            lines.append(f"{start}{text.ljust(left)} {arrow}")
        else:
            indent = len(text) - len(text.lstrip())
            lines += [f"{start}{text}", " " * (len(start) + indent) + arrow]
    if any(depth > _MOST_INDENTS for _, depth in rows):
        lines.append(f"  what is nested deeper than {_MOST_INDENTS} statements is indented no further")
    return lines


def _way(pair: Correspondence) -> str:
    if not pair.distance or not isinstance(pair.base, Statement):
        return ""
    way = shared_words(pair.base, pair.via) if pair.base.negated else f"through {one_line(short_name(pair.via))}"
    return f"  {way}, {_counted(pair.distance, 'step')}"


def _inferences(analogy: Analogy, line: Lines, excluded: frozenset[Statement]) -> list[list[str]]:
    """Returns the inferences that rest on matched statements, then those that rest on entities alone."""
    matched = {c.base for c in analogy.mapping if isinstance(c.base, Statement)}
    on_statements: dict[Statement, bool] = {}  # whether something matched is inside
    for statement in sorted(analogy.base.walk(), key=lambda s: s.order):  # each behind those inside it
        inside = (isinstance(a, Statement) and on_statements[a] for a in statement.args)
        on_statements[statement] = statement in matched or any(inside)
    strong = [i for i in analogy.inferences if on_statements.get(i.source)]
    weak = [i for i in analogy.inferences if not on_statements.get(i.source)]

    def item(i: CandidateInference) -> str:
        unknown = ", ".join(dict.fromkeys(line(e) for e in i.skolems))
        made_up = f"; unknown: {unknown}" if unknown else ""
        denied = f"; but the target {_said(i.denied_by[0], excluded, line)}" if i.denied_by else ""
        bits = f"{to_bits(i.value):.2f} bits, resting on {to_bits(i.support):.2f}{made_up}{denied}"
        return f"{line(i.statement)}  ({bits})"

    title, further = "the target may also have", "resting on pairs of entities alone"
    if not strong and weak:
        return [_listed(f"{title}, {further}", weak, item)]
    return [_listed(title, strong, item), *([_listed(f"and, {further}", weak, item)] if weak else [])]


def _alignable(analogy: Analogy, line: Lines) -> list[str]:
    def item(d: Difference) -> str:
        return f"{line(d.base)} -- {line(d.target)}" + (f"  ({shared_words(d.base, d.via)})" if d.via else "")

    return _listed("different in the same place, base -- target", analogy.alignable, item)


def _one_sided(title: str, statements: Sequence[Statement], line: Lines) -> list[str]:
    return _listed(title, statements, line)


def _contradictions(
    analogy: Analogy, line: Lines, excluded: tuple[frozenset[Statement], frozenset[Statement]]
) -> list[str]:
    items = [
        f"  the base {_said(base, excluded[0], line)}, the target {_said(target, excluded[1], line)}"
        for base, target in analogy.contradicted
    ]
    return [f"contradicted ({len(items)})", *items] if items else []


def _said(statement: Statement, excluded: frozenset[Statement], line: Lines) -> str:
    if statement in excluded:
        return f"excludes {one_line(short_name(statement.functor.id))}"
    return f"has {line(statement)}"


def _names(names: Mapping[str, str]) -> list[str]:
    shown = [(one_line(short_name(term)), one_line(names[term])) for term in sorted(names)]
    width = max((len(term) for term, _ in shown), default=0)
    return ["names", *(f"  {term.ljust(width)}  {name}" for term, name in shown)] if shown else []


def _listed(title: str, items: Sequence[_T], text: Callable[[_T], str]) -> list[str]:
    if not items:
        return [f"{title}: nothing"]
    lines = [f"{title} ({len(items)})", *(f"  {text(item)}" for item in items[:_SHOWN])]
    more = len(items) - _SHOWN
    return [*lines, f"  and {more} more; --json lists all"] if more > 0 else lines
