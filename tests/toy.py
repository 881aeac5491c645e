"""A small domain of invented terms and diseases in the real formats, for tests that need files."""

from __future__ import annotations

from pathlib import Path

from sma_gpu import Dials, Engine, open_engine

TERMS = {
    "HP:0000001": ("All", []),
    "HP:0000118": ("Phenotypic abnormality", ["HP:0000001"]),
    "HP:9910000": ("Abnormal limb", ["HP:0000118"]),
    "HP:9910100": ("Long fingers", ["HP:9910000"]),
    "HP:9910110": ("Spider fingers", ["HP:9910100"]),
    "HP:9910200": ("Short fingers", ["HP:9910000"]),
    "HP:9920000": ("Abnormal eye", ["HP:0000118"]),
    "HP:9920100": ("Loose lens", ["HP:9920000"]),
    "HP:9920200": ("Cloudy lens", ["HP:9920000"]),
    "HP:9930000": ("Abnormal heart", ["HP:0000118"]),
    "HP:9930100": ("Wide aorta", ["HP:9930000"]),
    "HP:0000005": ("Mode of inheritance", ["HP:0000001"]),
    "HP:9940000": ("Toy inheritance", ["HP:0000005"]),
}
SYNONYMS = {"HP:9910110": ["Arachno fingers"], "HP:9920100": ["Lens out of place"], "HP:9930100": ["Lens out of place"]}

DISEASES = {
    "OMIM:990001": ("Long disease", ["HP:9910110", "HP:9920100", "HP:9930100"]),
    "OMIM:990002": ("Short disease", ["HP:9910200", "HP:9920200"]),
    "ORPHA:990003": ("Twin of the long disease", ["HP:9910110", "HP:9920100", "HP:9930100"]),
    "OMIM:990004": ("Eye disease", ["HP:9920100", "HP:9920200"]),
    "OMIM:990005": ("Heart disease", ["HP:9930100"]),
    "OMIM:990006": ("Broad disease", ["HP:0000118"]),
}
EXCLUDED = {"OMIM:990004": ["HP:9910000"]}

HEADER = (
    "database_id\tdisease_name\tqualifier\thpo_id\treference\tevidence\t"
    "onset\tfrequency\tsex\tmodifier\taspect\tbiocuration"
)


def obo(version: str = "2026-01-01") -> str:
    """Returns the ontology as OBO text."""
    stanzas = [f"format-version: 1.2\ndata-version: hp/releases/{version}\nontology: hp\n"]
    for term, (name, parents) in TERMS.items():
        lines = [f"[Term]\nid: {term}\nname: {name}"]
        if term == "HP:9910100":
            lines.append("alt_id: HP:9910900")
        lines += [f'synonym: "{s}" EXACT []' for s in SYNONYMS.get(term, [])]
        lines += [f"is_a: {p} ! {TERMS[p][0]}" for p in parents]
        stanzas.append("\n".join(lines) + "\n")
    stanzas.append("[Term]\nid: HP:9910901\nname: obsolete sign\nis_obsolete: true\nconsider: HP:9910100\n")
    return "\n".join(stanzas)


def hpoa(version: str = "2026-01-01") -> str:
    """Returns the annotations as phenotype.hpoa text."""
    rows = ['#description: "toy"', f"#version: {version}", HEADER]
    for key, (name, terms) in DISEASES.items():
        rows += [row(key, name, "", term, "3/7", "P") for term in terms]
        rows += [row(key, name, "NOT", term, "", "P") for term in EXCLUDED.get(key, [])]
    rows.append(row("OMIM:990001", "Long disease", "", "HP:9940000", "", "I"))
    rows.append(row("OMIM:990007", "Disease without signs", "", "HP:9940000", "", "I"))
    return "\n".join(rows) + "\n"


def row(key: str, name: str, qualifier: str, term: str, frequency: str, aspect: str) -> str:
    """Returns one annotation line."""
    cells = [key, name, qualifier, term, "PMID:990", "PCS", "", frequency, "", "", aspect, "HPO:toy[2026-01-01]"]
    return "\t".join(cells)


def write(folder: Path) -> Path:
    """Writes both files into ``folder`` and returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hp.obo").write_text(obo(), encoding="utf-8")
    (folder / "phenotype.hpoa").write_text(hpoa(), encoding="utf-8")
    return folder


def engine(folder: Path, dials: Dials | None = None) -> Engine:
    """Returns the engine over the toy domain, its files written into ``folder``."""
    return open_engine(str(write(folder)), dials)
