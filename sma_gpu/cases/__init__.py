"""Cases: the symbolic model, the query encoder, and the packed arrays that the engine works on."""

from .batch import CaseBatch
from .encoder import Changed, EncodedQuery, LeftOut, encode_query, encode_stored
from .model import Case, Entity, Predicate, Statement, flat_case

__all__ = [
    "Case",
    "CaseBatch",
    "Changed",
    "EncodedQuery",
    "Entity",
    "LeftOut",
    "Predicate",
    "Statement",
    "encode_query",
    "encode_stored",
    "flat_case",
]
