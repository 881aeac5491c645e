"""Filings of companies in whatever form they come: tables of the SEC, JSON, or XBRL instances. The content decides."""

from __future__ import annotations

from ..ontology import Ontology
from ..source import Source
from ..stream import heads_of
from . import sec_filings, sec_tables, xbrl_instance
from .model import Records

__all__ = ["are_collected", "read_any_filings"]


def are_collected(head: bytes) -> bool:
    """Returns whether ``head``, the uncompressed start of a file, is a collection of filings of many companies."""
    return sec_filings.can_read_filings(head) or sec_tables.can_read(head)


def read_any_filings(source: Source, ontology: Ontology, *, strict: bool = False) -> Records | None:
    """Returns the filings in a source, or None where it holds none.

    Raises:
        ParseError: a file is damaged, or ``strict`` met a fault.
    """
    for head in heads_of(source):
        if sec_filings.can_read_filings(head):
            return sec_filings.read_filings(source, ontology, strict=strict)
        if sec_tables.can_read(head):
            return sec_tables.read_sec(source, ontology, strict=strict)
        if xbrl_instance.can_read(head):
            return xbrl_instance.read_instance(source, ontology, strict=strict)
        if sec_filings.can_read_facts(head):
            return sec_filings.read_company_facts(source, ontology, strict=strict)
    return None
