"""A domain of 60 invented terms and 40 diseases of six terms each, in the real formats: enough to measure on."""

from __future__ import annotations

import random
from pathlib import Path

import toy

__all__ = ["write_small"]


def write_small(folder: Path) -> Path:
    """Writes ontology and annotations into ``folder`` and returns it."""
    rng = random.Random(5)
    ids = ["HP:0000001", "HP:0000118", *(f"HP:99{number:05d}" for number in range(58))]
    stanzas = ["format-version: 1.2\ndata-version: hp/releases/2026-01-01\nontology: hp\n"]
    for number, term in enumerate(ids):
        above = [f"is_a: {ids[max(1, number // 3)] if number > 1 else ids[0]}"] if number else []
        stanzas.append("\n".join(["[Term]", f"id: {term}", f"name: sign {number}", *above]) + "\n")
    rows = ['#description: "small"', "#version: 2026-01-01", toy.HEADER]
    for disease in range(40):
        for term in sorted(rng.sample(ids[4:], 6)):
            rows.append(toy.row(f"OMIM:99{disease:04d}", f"Disease {disease}", "", term, "", "P"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hp.obo").write_text("\n".join(stanzas), encoding="utf-8")
    (folder / "phenotype.hpoa").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder
