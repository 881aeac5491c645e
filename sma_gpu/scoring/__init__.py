"""Dials, scorers (the worth of a statement pair), normalisation keys, and the integer grid."""

from . import evidence
from .dials import Dials
from .grid import GRID, to_bits, to_grid
from .kinds import Kinds, Shapes, kinds_of
from .normalise import Normaliser
from .pairs import PairTable, own_bits, pair_table
from .scorers import functor_costs

__all__ = [
    "GRID",
    "Dials",
    "Kinds",
    "Normaliser",
    "PairTable",
    "Shapes",
    "evidence",
    "functor_costs",
    "kinds_of",
    "own_bits",
    "pair_table",
    "to_bits",
    "to_grid",
]
