"""Retired and alternative ids: what stands for each of them today, or what the file suggests instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .drafts import Draft, known
from .graph import cycles, settle, spell
from .ontology import Retired
from .report import LoadReport

__all__ = ["resolve_retired"]


@dataclass(slots=True)
class _Old:
    """An id that is not live, with the ids that may stand for it one step on."""

    draft: Draft | None
    steps: list[str]
    fork: bool
    is_alternative: bool


def resolve_retired(drafts: Mapping[str, Draft], live: Mapping[str, Draft], report: LoadReport) -> dict[str, Retired]:
    """Returns every retired and alternative id with its replacement or candidates, code-point order."""
    old = _old_ids(drafts, live, report)
    order = _order_replacements(old, drafts, report)
    paths: dict[str, tuple[str, ...]] = {}
    ends: dict[str, tuple[str, ...]] = {}

    def live_ends(targets: Iterable[str]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for target in targets:
            found.update(dict.fromkeys((target,) if target in live else ends.get(target, ())))
        return tuple(found)

    for term in order:
        entry = old[term]
        ends[term] = live_ends(entry.steps)
        usable = [step for step in entry.steps if step in live or step in paths]
        if entry.fork or len(ends[term]) != 1 or not usable:
            if not entry.fork and len(usable) > 1:
                report.warn(
                    "replacement-conflict",
                    f"{term} leads to {' and to '.join(ends[term])}; not resolved",
                    _claim_lines(term, entry, drafts),
                    [term, *ends[term]],
                )
            continue
        paths[term] = (term, *paths.get(usable[0], usable[:1]))
    suggested: dict[str, tuple[str, ...]] = {}
    retired: dict[str, Retired] = {}
    for term in order:
        entry = old[term]
        inherited = [s for step in entry.steps if step not in paths for s in suggested.get(step, ())]
        own = live_ends(entry.draft.consider if entry.draft else ())
        suggested[term] = tuple(dict.fromkeys([*own, *inherited]))
        path = paths.get(term, (term,))
        listed = ends[term] if len(path) == 1 else ()
        candidates = tuple(c for c in dict.fromkeys([*listed, *suggested[term]]) if c != path[-1])
        retired[term] = Retired(
            name=entry.draft.name if entry.draft else "",
            path=path,
            candidates=candidates,
            is_alternative=entry.is_alternative,
            has_stanza=entry.draft is not None,
        )
    return {term: retired[term] for term in sorted(retired)}


def _old_ids(drafts: Mapping[str, Draft], live: Mapping[str, Draft], report: LoadReport) -> dict[str, _Old]:
    """Returns the ids that are not live with their next steps, code-point order; reports unusable pointers."""
    claims: dict[str, list[str]] = {}
    for term, draft in drafts.items():
        for alternative, lines in draft.alt_ids.items():
            if alternative in live:
                report.warn(
                    "live-alternative",
                    f"{alternative} is a live term; that {term} claims it as an alternative id was ignored",
                    known(lines),
                    [alternative, term],
                )
            elif alternative != term:
                claims.setdefault(alternative, []).append(term)
    stanzas = {term: draft for term, draft in drafts.items() if draft.retired}
    old: dict[str, _Old] = {}
    for term in sorted({*claims, *stanzas}):
        stanza = stanzas.get(term)
        owners = claims.get(term, [])
        live_owners = [owner for owner in owners if owner in live]
        replaced_by = list(stanza.replaced_by) if stanza else []
        steps = list(dict.fromkeys([*replaced_by, *(live_owners or owners)]))
        old[term] = _Old(stanza, steps, len(replaced_by) > 1 or len(live_owners) > 1, bool(live_owners))
        if len(live_owners) > 1:
            report.warn(
                "shared-alternative",
                f"{term} is an alternative id of {' and of '.join(live_owners)}; not resolved",
                _claim_lines(term, old[term], drafts),
                [term, *live_owners],
            )
    for term, stanza in stanzas.items():
        for target, lines in stanza.replaced_by.items():
            if target not in live and target not in old:
                report.warn(
                    "undefined-replacement",
                    f"{term} is replaced by {target}, which is never defined; not resolved by that",
                    known(lines),
                    [term, target],
                )
        unknown = [t for t in stanza.consider if t not in live and t not in old]
        if unknown:
            report.note(
                "undefined-suggestion",
                f"{term} suggests {', '.join(unknown)}, never defined here and so no candidate",
                known(*(stanza.consider[t] for t in unknown)),
                [term, *unknown],
            )
    return old


def _claim_lines(term: str, entry: _Old, drafts: Mapping[str, Draft]) -> list[int]:
    """Returns the lines that say what stands for ``term``."""
    own = entry.draft.replaced_by.values() if entry.draft else ()
    claimed = (drafts[s].alt_ids.get(term, ()) for s in entry.steps if s in drafts)
    return known(*own, *claimed)


def _order_replacements(old: dict[str, _Old], drafts: Mapping[str, Draft], report: LoadReport) -> list[str]:
    """Returns the ids of ``old``, each behind all its steps. Steps along a cycle are cut and reported."""
    ids = list(old)
    number = {term: i for i, term in enumerate(ids)}
    while True:
        steps = [[number[s] for s in entry.steps if s in number] for entry in old.values()]
        order, stuck = settle(steps)
        if not stuck:
            return [ids[i] for i in order]
        for cycle in ([ids[i] for i in path] for path in cycles(steps, stuck)):
            lines = sorted({n for term in cycle[:-1] for n in _claim_lines(term, old[term], drafts)})
            report.warn(
                "replacement-cycle",
                f"replacements run in a circle: {spell(cycle)}; not resolved",
                lines,
                cycle[:-1],
            )
            for term, step in zip(cycle, cycle[1:], strict=False):
                old[term].steps.remove(step)
