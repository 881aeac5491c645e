"""The index, the MAC bound, the FAC alignment, the certified top k, and the explanation of a hit."""

from .explain import Contradiction, Explanation, Inference, Pairing, explain
from .hits import Hits
from .index import Index
from .search import OpenQuery, Standing, Top, check_k, open_query

__all__ = [
    "Contradiction",
    "Explanation",
    "Hits",
    "Index",
    "Inference",
    "OpenQuery",
    "Pairing",
    "Standing",
    "Top",
    "check_k",
    "explain",
    "open_query",
]
