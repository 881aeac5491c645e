"""What the bench has: arms, tasks and suites, each with what it needs and whether that is here."""

from __future__ import annotations

from typing import Any

from .arms.registry import all_arms
from .suites import suite, suite_names
from .tasks.registry import ENTRIES, available

__all__ = ["listing", "listing_text"]


def listing() -> dict[str, Any]:
    """Returns all arms, tasks and suites, ready for JSON; ``missing`` is empty for what can be used here."""
    return {
        "schema": "sma-gpu/bench-list/1",
        "arms": [
            {"name": arm.name, "kind": arm.kind, "words": arm.words, "missing": arm.missing()} for arm in all_arms()
        ],
        "tasks": [
            {"name": name, "words": task.words, "seeds": list(task.seeds), "missing": available(name)}
            for name, task in ENTRIES.items()
        ],
        "suites": [{"name": name, "words": suite(name).words} for name in suite_names()],
    }


def listing_text(found: dict[str, Any]) -> str:
    """Returns the list for a terminal."""
    lines = []
    for part in ("suites", "tasks", "arms"):
        width = max((len(entry["name"]) for entry in found[part]), default=0)
        lines.append(part)
        for entry in found[part]:
            here = f"  [not here: {entry['missing']}]" if entry.get("missing") else ""
            lines.append(f"  {entry['name']:<{width}}  {entry['words']}{here}")
        lines.append("")
    return "\n".join(lines)
