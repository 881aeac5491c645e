"""The index, the MAC bound, the FAC alignment, the certified top k, and the explanation of a hit."""

from .explain import Explanation, Pairing, explain
from .hits import Hits
from .index import Index
from .search import Standing, retrieve, standing

__all__ = ["Explanation", "Hits", "Index", "Pairing", "Standing", "explain", "retrieve", "standing"]
