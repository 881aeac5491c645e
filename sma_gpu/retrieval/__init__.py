"""The index, the MAC bound, the FAC alignment, the certified top k, and the explanation of a hit."""

from .alignment import ALIGN_DIALS, align, analogy_between
from .analogy import Analogy, CandidateInference, Correspondence, Difference
from .explain import Contradiction, Explanation, Inference, Pairing, explain
from .hits import Hits
from .index import Index
from .mappings import Mappings
from .on_device import DeviceHits, queries_from_arrays, retrieve_on_device
from .search import OpenQuery, Standing, Top, check_k, open_blocks, open_query

__all__ = [
    "ALIGN_DIALS",
    "Analogy",
    "CandidateInference",
    "Contradiction",
    "Correspondence",
    "DeviceHits",
    "Difference",
    "Explanation",
    "Hits",
    "Index",
    "Inference",
    "Mappings",
    "OpenQuery",
    "Pairing",
    "Standing",
    "Top",
    "align",
    "analogy_between",
    "check_k",
    "explain",
    "open_blocks",
    "open_query",
    "queries_from_arrays",
    "retrieve_on_device",
]
