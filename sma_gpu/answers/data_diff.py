"""Two releases of an ontology compared, as an object and as text."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..ontologies.differences import differences
from ..ontologies.loading import load_ontology
from ..ontologies.named import named_ontology
from ..ontologies.ontology import Ontology

__all__ = ["data_diff", "data_diff_text"]

DIFF_SCHEMA = "sma-gpu/data-diff/1"
_SHOWN = 15  # lines of a section in the text form


def data_diff(old: str, new: str) -> dict[str, Any]:
    """Returns what changed between two releases, files or names such as ``mondo@2025-01-07``.

    Raises:
        DataMissing: one of them is nowhere to be found.
        ParseError: one of them cannot be read.
    """
    before, after = (load_ontology(named_ontology(one).file.path) for one in (old, new))
    found = asdict(differences(before, after))
    for kind in ("added", "restored"):
        found[kind] = [{"id": term, "name": name} for term, name in found[kind]]
    return {"schema": DIFF_SCHEMA, "old": _release(before, old), "new": _release(after, new), **found}


def data_diff_text(diff: dict[str, Any]) -> str:
    """Returns the changes as text; long lists are cut, and say so."""
    old, new = diff["old"], diff["new"]
    before, after = (f"{one['label'] or one['asked']} ({one['terms']} terms)" for one in (old, new))
    lines = [f"{before} -> {after}"]
    lines.append(f"{diff['kept']} terms are in both")
    if old["name"] != new["name"]:
        lines.append(f"Note: these call themselves by different names, {old['name']!r} and {new['name']!r}")
    lines += _section("added", [f"{t['id']} {t['name']}" for t in diff["added"]])
    lines += _section("restored", [f"{t['id']} {t['name']}" for t in diff["restored"]])
    lines += _section("replaced", [f"{t['id']} {t['name']} -> {t['became']}" for t in diff["replaced"]])
    hints = [(t, f" (candidates: {', '.join(t['candidates'])})" if t["candidates"] else "") for t in diff["obsoleted"]]
    lines += _section("made obsolete without one replacement", [f"{t['id']} {t['name']}{hint}" for t, hint in hints])
    lines += _section("not there any more", [f"{t['id']} {t['name']}" for t in diff["removed"]])
    lines += _section("renamed", [f"{t['id']} {t['old']} -> {t['new']}" for t in diff["renamed"]])
    moved = [(t, [*(f"-{p}" for p in t["lost"]), *(f"+{p}" for p in t["gained"])]) for t in diff["moved"]]
    lines += _section("with other parents", [f"{t['id']} {t['name']}: {' '.join(steps)}" for t, steps in moved])
    return "\n".join(lines) + "\n"


def _release(ontology: Ontology, asked: str) -> dict[str, Any]:
    return {
        "asked": asked,
        "name": ontology.name,
        "label": ontology.label,
        "version": ontology.version,
        "sha256": ontology.sha256,
        "terms": ontology.live_count,
    }


def _section(title: str, told: list[str]) -> list[str]:
    lines = ["", f"{title} ({len(told)})", *(f"  {line}" for line in told[:_SHOWN])]
    return [*lines, f"  and {len(told) - _SHOWN} more; --json has all"] if len(told) > _SHOWN else lines
