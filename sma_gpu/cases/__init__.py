"""Cases: the symbolic model, its readers and printers, the query encoder, and the packed arrays of the engine."""

from .batch import CaseBatch
from .encoder import Changed, EncodedQuery, LeftOut, encode_query, encode_stored
from .model import Case, Entity, Predicate, Statement, flat_case
from .reading import read_case
from .relations import related_case
from .sexpr import parse_case, print_case
from .vocabulary import Signature, Vocabulary, read_vocabulary

__all__ = [
    "Case",
    "CaseBatch",
    "Changed",
    "EncodedQuery",
    "Entity",
    "LeftOut",
    "Predicate",
    "Signature",
    "Statement",
    "Vocabulary",
    "encode_query",
    "encode_stored",
    "flat_case",
    "parse_case",
    "print_case",
    "read_case",
    "read_vocabulary",
    "related_case",
]
