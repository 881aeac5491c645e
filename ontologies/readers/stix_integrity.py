"""What a reader of a STIX bundle should know about its soundness: all notes, since nothing is lost by it.

Told once the ontology is made: what its terms are, retired ids that relationships still use and what they became, ids
that the file lacks, retired ids that lead nowhere, and objects that contradict themselves.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from ..ontology import Ontology
from ..report import LoadReport
from .stix_bundle import StixBundle, counted, listed
from .stix_object import KINDS, TACTIC, TECHNIQUE, UNKNOWN_TIME, StixObject, is_true, time_of, type_of

__all__ = ["note_integrity"]

_REPLACED, _IS_A = "revoked-by", "subtechnique-of"


def note_integrity(bundle: StixBundle, ontology: Ontology, report: LoadReport) -> None:
    """Writes the notes on ``bundle``, of which ``ontology`` was made, into ``report``."""
    _note_kinds(bundle, ontology, report)
    _note_ends(bundle, ontology, report)
    _note_dead_ends(bundle, report)
    _note_odd_objects(bundle, report)


def _note_kinds(bundle: StixBundle, ontology: Ontology, report: LoadReport) -> None:
    """Tells how many live terms there are of each type, since only attack patterns are what records have."""
    counts: dict[str, set[str]] = defaultdict(set)
    for found in _entities(bundle):
        if not found.retired and found.key in ontology.number:
            counts[found.type].add(found.key)
    report.note("kinds", f"live terms: {counted({kind: len(keys) for kind, keys in counts.items()})}")


def _note_ends(bundle: StixBundle, ontology: Ontology, report: LoadReport) -> None:
    """Tells which ends of living relationships are retired, and what they became, and which are not there at all."""
    retired: dict[str, Counter[str]] = defaultdict(Counter)
    unknown: Counter[str] = Counter()
    for link in bundle.relationships:
        kind, ends = link.text("relationship_type"), (link.text("source_ref"), link.text("target_ref"))
        if link.retired or kind == _REPLACED or not KINDS.issuperset(map(type_of, ends)):
            continue
        for end in ends:
            found = bundle.objects.get(end)
            if found is None:
                unknown[end] += 1
            elif found.retired and (kind, end) != (_IS_A, ends[1]):  # such an edge has a warning of its own
                retired[found.key][kind] += 1
    for key in sorted(retired):
        today = ontology.resolve(key).used
        kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(retired[key].items()))
        became = f"today it is {today}" if today else "nothing stands for it today"
        message = f"{key} is retired but still an end of relationships, {kinds}, which were left out; {became}"
        report.note("retired-end", message, ids=[key, *([today] if today else [])])
    if unknown:
        shown = listed([f"{end} ({unknown[end]})" for end in sorted(unknown)])
        message = f"ids that relationships name and the file lacks, with the number of these: {shown}"
        report.note("unknown-end", message, ids=sorted(unknown))


def _note_dead_ends(bundle: StixBundle, report: LoadReport) -> None:
    """Tells which revoked objects name no successor."""
    led = {link.text("source_ref") for link in bundle.relationships if link.text("relationship_type") == _REPLACED}
    stuck = [o.key for o in _entities(bundle) if is_true(o.values.get("revoked")) and o.id not in led]
    if stuck:
        message = f"revoked without a successor, so that nothing stands for them: {listed(sorted(stuck))}"
        report.note("no-successor", message, ids=sorted(stuck))


def _note_odd_objects(bundle: StixBundle, report: LoadReport) -> None:
    """Tells which objects contradict themselves, and which techniques are for no tactic where others are."""
    early = [o for o in _entities(bundle) if UNKNOWN_TIME != o.time < time_of(o.values.get("created"))]
    for found in early:
        message = f"{found.key} was changed before it was created ({found.text('modified')})"
        report.note("odd-time", message, ids=[found.key], where=found.where)
    odd: list[str] = []
    for link, child, parent in bundle.links(_IS_A, (TECHNIQUE,), TECHNIQUE):
        ends = bundle.objects.get(child), bundle.objects.get(parent)
        if link.retired or ends[0] is None or ends[1] is None or ends[0].retired:
            continue
        if "." in ends[0].key and ends[0].key.partition(".")[0] != ends[1].key and not ends[1].retired:
            odd.append(f"{ends[0].key} of {ends[1].key}")
    if odd:
        message = f"sub-techniques whose id belongs to another technique than the one above: {listed(odd)}"
        report.note("odd-parent", message, ids=[word for pair in odd for word in pair.split(" of ")])
    if bundle.of_type(TACTIC):
        idle = [o.key for o in bundle.of_type(TECHNIQUE) if not o.retired and not o.parts("kill_chain_phases")]
        if idle:
            message = f"techniques that are for no tactic: {listed(sorted(idle))}"
            report.note("idle-technique", message, ids=sorted(idle))


def _entities(bundle: StixBundle) -> list[StixObject]:
    return [found for found in bundle.objects.values() if found.type in KINDS]
