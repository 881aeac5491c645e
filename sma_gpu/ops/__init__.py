"""The three ops (``accumulate``, ``select``, ``assign``), their contract, their backends, and the choice among them."""

from .contract import FoldedLists, Ops, PairBlock
from .registry import Backend, backends, choose

__all__ = ["Backend", "FoldedLists", "Ops", "PairBlock", "backends", "choose"]
