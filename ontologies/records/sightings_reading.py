"""One file of what was seen, of any known form; the form is told by content, not by name."""

from __future__ import annotations

import json

from ...errors import ParseError
from ..magic import look_at
from ..manifest import Manifest
from ..ontology import Ontology
from ..readers.stix_bundle import can_read
from ..report import LoadReport
from ..source import Source, SourceLike, decode_lines, read_source
from .ids_in_text import ATTACK_IDS, IdForm, id_column_of, see_table, see_text
from .misp import is_misp, see_events
from .navigator import is_layers, see_layers
from .sightings import SightingList, Sightings
from .stix_report import is_bundle, see_bundle

__all__ = ["read_sightings"]

_HEAD_BYTES = 65536


def read_sightings(source: SourceLike, ontology: Ontology, manifest: Manifest, *, name: str | None = None) -> Sightings:
    """Returns the terms that a file says were seen, with their places, and what it names but does not affirm.

    Known are layers of the ATT&CK Navigator, reports, bundles and attack flows in STIX, events of MISP, tables with a
    column of ids, and any text with ids in it, each perhaps compressed.

    Args:
        source: a path, bytes or a file open in binary mode.
        ontology: the ontology that the ids belong to.
        manifest: the domain, which says how ids are written.
        name: name of the source in reports.

    Raises:
        ParseError: the file is binary, its compression is damaged, or a bundle is broken.
        QueryError: it is a whole library of techniques.
        DataMissing: there is no such file.
    """
    opened = read_source(source, name=name)
    found = SightingList()
    is_attack = manifest.ontology.reader == "stix"
    form = ATTACK_IDS if is_attack else IdForm.of(manifest.ontology.id_pattern)
    kind = (_see_attack_forms(opened, ontology, form, found) if is_attack else "") or _see_lines(opened, form, found)
    return found.finish(kind, opened.path, opened.content_sha256)


def _see_attack_forms(source: Source, ontology: Ontology, form: IdForm, found: SightingList) -> str:
    """Adds what a file in one of the forms of this field says, and returns the form; empty where it is in none."""
    content = source.content()
    if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"[") and content[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return ""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        if can_read(content[:_HEAD_BYTES]):
            return see_bundle(source, ontology, form, found)  # which says what is wrong with it
        return ""  # ids can be read from it as from any text
    if is_layers(value):
        see_layers(value, ontology.name, found)
        return "navigator"
    if is_misp(value):
        see_events(value, form, found)
        return "misp"
    if is_bundle(value):
        return see_bundle(source, ontology, form, found)
    return ""


def _see_lines(source: Source, form: IdForm, found: SightingList) -> str:
    """Adds the ids in a table or in a text, and returns which of both it is."""
    content = source.content()
    look = look_at(content)
    if content.startswith(b"%PDF") or "binary" in look.what:
        what = "it is a PDF, whose text is packed" if content.startswith(b"%PDF") else look.what
        do = "Save it as plain text first."
        raise ParseError(f"read ids from {source.path}", what, do, path=source.path)
    report = LoadReport(source.path)
    lines = decode_lines(content, report)
    found.notes.extend(entry.message for entry in report.faults)
    table = id_column_of(lines, form)
    if table is None:
        see_text(lines, form, found)
        return "text"
    see_table(lines, *table, form, found)
    return "csv"
