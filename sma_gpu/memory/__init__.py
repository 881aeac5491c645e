"""The Memory protocol, the structural memory, and the router between ontologies."""

from .protocol import IndexItem, LastingMemory, Memory, Query, Retrieved
from .router import DomainRouter
from .structural import SmaMemory

__all__ = ["DomainRouter", "IndexItem", "LastingMemory", "Memory", "Query", "Retrieved", "SmaMemory"]
