"""Retired and alternative ids: what stands for each of them today, or what the file suggests instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .drafts import Draft, known
from .graph import circle, components, is_circular, spell
from .ontology import Retired
from .report import LoadReport

__all__ = ["resolve_retired"]


@dataclass(slots=True)
class _Old:
    """An id that is not live, with the ids that may stand for it one step on.

    Attributes:
        draft: its own stanza, if it has one.
        successors: ids that its stanza names as replacement.
        owners: live terms that claim it as an alternative id.
        steps: all ids to go on to, those along a circle left out.
    """

    draft: Draft | None
    successors: list[str]
    owners: list[str]
    steps: list[str]


def resolve_retired(drafts: Mapping[str, Draft], live: Mapping[str, Draft], report: LoadReport) -> dict[str, Retired]:
    """Returns every retired and alternative id with its replacement or candidates, code-point order."""
    old = _old_ids(drafts, live, report)
    order = _order_replacements(old, drafts, report)
    ends: dict[str, tuple[str, ...]] = {}
    onward: dict[str, str] = {}

    def live_ends(targets: Iterable[str]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for target in targets:
            found.update(dict.fromkeys((target,) if target in live else ends.get(target, ())))
        return tuple(found)

    for term in order:
        entry = old[term]
        ends[term] = live_ends(entry.steps)
        usable = [step for step in entry.steps if step in live or step in onward]
        # Of several successors each must lead to one and the same term; owners may name but one.
        agreed = len(entry.successors) < 2 or set(entry.successors) <= set(usable)
        if len(ends[term]) == 1 and usable and agreed and len(entry.owners) < 2:
            onward[term] = usable[0]
            if len(entry.successors) > 1:
                message = f"{term} names {len(entry.successors)} replacements, which all lead to {ends[term][0]}"
                report.note("same-replacement", message, _claim_lines(term, entry, drafts), [term, *ends[term]])
        elif len(usable) > 1 and len(entry.successors) < 2 and len(entry.owners) < 2:
            report.warn(
                "replacement-conflict",
                f"{term} leads to {' and to '.join(ends[term])}; not resolved",
                _claim_lines(term, entry, drafts),
                [term, *ends[term]],
            )
    suggested: dict[str, tuple[str, ...]] = {}
    retired: dict[str, Retired] = {}
    for term in order:
        entry = old[term]
        inherited = [s for step in entry.steps if step not in onward for s in suggested.get(step, ())]
        own = live_ends(entry.draft.consider if entry.draft else ())
        suggested[term] = tuple(dict.fromkeys([*own, *inherited]))
        replacement = ends[term][0] if term in onward else None
        listed = () if replacement else ends[term]
        retired[term] = Retired(
            id=term,
            name=entry.draft.name if entry.draft else "",
            replacement=replacement,
            candidates=tuple(c for c in dict.fromkeys([*listed, *suggested[term]]) if c != replacement),
            is_alternative=bool(entry.owners),
            has_stanza=entry.draft is not None,
            onward=retired.get(onward.get(term, "")),
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
        old[term] = _Old(stanza, replaced_by, live_owners, steps)
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
    """Returns the ids of ``old``, each behind all its steps. Steps along a circle are cut and reported."""
    ids = list(old)
    number = {term: i for i, term in enumerate(ids)}
    steps = [[number[s] for s in entry.steps if s in number] for entry in old.values()]
    found = components(steps)
    for component in sorted(c for c in found if is_circular(c, steps)):
        members = [ids[i] for i in component]
        path = [ids[i] for i in circle(component, steps)]
        rest = f", with {len(members)} ids that lead to one another" if len(members) >= len(path) else ""
        report.warn(
            "replacement-cycle",
            f"replacements run in a circle: {spell(path)}{rest}; not resolved",
            known(*(_claim_lines(term, old[term], drafts) for term in members)),
            members if rest else path[:-1],
        )
        inside = set(members)
        for term in members:
            old[term].steps = [step for step in old[term].steps if step not in inside]
    return [ids[i] for component in found for i in component]
