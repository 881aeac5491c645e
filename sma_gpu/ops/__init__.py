"""The three ops (``accumulate``, ``select``, ``assign``), their contract, their backends, and the choice among them."""

from .contract import Ops, PairBlock, PlainQueries, Tops, WholeOps
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
    "Tops",
    "WholeOps",
    "backends",
    "choose",
]
