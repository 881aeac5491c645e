"""A small invented ATT&CK as a STIX bundle, for tests that need one: techniques, tactics, groups and what they use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TIME = "2031-01-02T03:04:05.678Z"


def thing(kind: str, number: int, attack_id: str = "", name: str = "", **more: Any) -> dict[str, Any]:
    """Returns one object; ``attack_id`` is its ATT&CK id."""
    references = [{"source_name": "A report", "url": "https://example.org/report"}]
    if attack_id:
        references.append({"source_name": "mitre-attack", "external_id": attack_id})
    return {
        "type": kind,
        "id": f"{kind}--00000000-0000-4000-8000-{number:012d}",
        "created": TIME,
        "modified": TIME,
        "name": name or attack_id,
        "external_references": references,
        **more,
    }


def technique(number: int, attack_id: str = "", name: str = "", **more: Any) -> dict[str, Any]:
    """Returns one technique."""
    phases = [{"kill_chain_name": "mitre-attack", "phase_name": "toy-access"}]
    values = {"kill_chain_phases": phases, "x_mitre_domains": ["enterprise-attack"], "description": f"About {name}."}
    return thing("attack-pattern", number, attack_id, name, **{**values, **more})


def group(number: int, attack_id: str = "", name: str = "", **more: Any) -> dict[str, Any]:
    """Returns one group."""
    return thing("intrusion-set", number, attack_id, name, **more)


def link(number: int, kind: str, source: dict[str, Any], target: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Returns one relationship."""
    ends = {"relationship_type": kind, "source_ref": source["id"], "target_ref": target["id"]}
    return thing("relationship", number, **{**ends, **more})


def bundle(*objects: dict[str, Any], **more: Any) -> bytes:
    """Returns the bundle of these objects."""
    return json.dumps({"type": "bundle", "id": "bundle--1", "objects": list(objects), **more}).encode()


PHISHING = technique(1, "T9100", "Phishing")
ATTACHMENT = technique(2, "T9100.001", "Attachment")
LINK = technique(3, "T9100.002", "Link")
SCRIPT = technique(4, "T9200", "Scripting")
SHELL = technique(5, "T9200.001", "Shell")
SCOUTING = technique(6, "T9300", "Scouting")
SCOUT_LINK = technique(7, "T9300.001", "Link")
OLD = technique(8, "T9001", "Old shell", revoked=True)
TACTIC = thing("x-mitre-tactic", 9, "TA9001", "Toy Access", x_mitre_shortname="toy-access")
TECHNIQUES = (PHISHING, ATTACHMENT, LINK, SCRIPT, SHELL, SCOUTING, SCOUT_LINK, OLD)

BEAR, CAT, DOG = group(11, "G9001", "Toy Bear"), group(12, "G9002", "Toy Cat"), group(13, "G9003", "Toy Dog")
FOX = group(15, "G9005", "Toy Fox")
GONE = group(14, "G9004", "Gone", revoked=True)
USES = {
    "G9001": (BEAR, (ATTACHMENT, SHELL, SCOUT_LINK)),
    "G9002": (CAT, (LINK, SCRIPT)),
    "G9003": (DOG, ()),
    "G9005": (FOX, (SCOUTING,)),
    "G9004": (GONE, (SHELL,)),
}


def objects() -> list[dict[str, Any]]:
    """Returns the objects of the invented release."""
    found = [*TECHNIQUES, TACTIC, *(one for one, _ in USES.values())]
    pairs = [(ATTACHMENT, PHISHING), (LINK, PHISHING), (SHELL, SCRIPT), (SCOUT_LINK, SCOUTING)]
    found += [link(100 + i, "subtechnique-of", *pair) for i, pair in enumerate(pairs)]
    found.append(link(200, "revoked-by", OLD, SHELL))
    edges = [(one, used) for one, all_used in USES.values() for used in all_used]
    found += [link(300 + i, "uses", *edge, description=f"Seen {i}.") for i, edge in enumerate(edges)]
    return found


def write(folder: Path) -> Path:
    """Writes the bundle into ``folder`` and returns that."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "attack.json").write_bytes(bundle(*objects()))
    return folder
