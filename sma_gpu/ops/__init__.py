"""The three ops (``accumulate``, ``select``, ``assign``), their contract, their backends, and the choice among them."""

from .contract import Ops, PairBlock, PlainQueries, QuerywiseOps, StructureOps, Tops, WholeOps
from .lists import FoldedLists, Lists, PostingLists
from .registry import Backend, backends, choose

__all__ = [
    "Backend",
    "FoldedLists",
    "Lists",
    "Ops",
    "PairBlock",
    "PlainQueries",
    "PostingLists",
    "QuerywiseOps",
    "StructureOps",
    "Tops",
    "WholeOps",
    "backends",
    "choose",
]
