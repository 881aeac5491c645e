"""What is odd in the stanzas of a file, told before they become an ontology; nothing is changed here."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .drafts import Draft, known
from .report import LoadReport

__all__ = ["check_stanzas", "note_unnamed"]


def check_stanzas(drafts: Mapping[str, Draft], report: LoadReport) -> None:
    """Reports doubled stanzas, and marks that make sense only on the other kind of stanza."""
    for term, draft in drafts.items():
        if len(draft.lines) > 1:
            lines = known(draft.lines)
            report.note("merged-stanzas", f"{term} is defined {len(draft.lines)} times; merged", lines, [term])
        if draft.retired and (draft.kept or len(draft.retired) < len(draft.lines)):
            report.warn(
                "half-retired",
                f"{term} is retired in one place but not in another; it counts as retired",
                known(draft.lines, *draft.retired.values(), *draft.kept.values()),
                [term],
            )
        if draft.retired and (draft.parents or draft.relations):
            lines = known(*draft.parents.values(), *draft.relations.values())
            report.warn(
                "edges-of-retired", f"{term} is retired; its parents and relations were left out", lines, [term]
            )
        if not draft.retired and draft.replaced_by:
            report.warn(
                "replacement-of-live",
                f"{term} is live; its replacement by {', '.join(draft.replaced_by)} was not followed",
                known(*draft.replaced_by.values()),
                [term],
            )
        if not draft.retired and draft.consider:
            report.note(
                "suggestion-of-live",
                f"{term} is live; the suggestion to consider {', '.join(draft.consider)} plays no part",
                known(*draft.consider.values()),
                [term],
            )


def note_unnamed(live: Mapping[str, Draft], declared: Collection[str], report: LoadReport, *, terms: bool) -> None:
    """Notes relations that are used without a declaration (often a misspelling), and ``terms`` without a name."""
    used: dict[str, list[int]] = {}
    for draft in live.values():
        for (relation, _), lines in draft.relations.items():
            if relation not in declared:
                used.setdefault(relation, []).extend(lines)
    for relation in sorted(used):
        report.note(
            "undeclared-relation",
            f"relation {relation} is used but not declared",
            known(used[relation]),
            [relation],
        )
    nameless = [term for term, draft in live.items() if not draft.name] if terms else []
    if nameless:
        shown = ", ".join(nameless[:5]) + (f" and {len(nameless) - 5} more" if len(nameless) > 5 else "")
        lines = known(*(live[term].lines for term in nameless))
        report.note("nameless", f"live terms without a name are shown by their id: {shown}", lines, nameless)
