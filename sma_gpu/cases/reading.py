"""Reading a case from a file, whichever form it has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from ..ontologies.source import SourceLike, read_source
from .case_json import parse_case_json
from .model import Case
from .plaintext import read_text
from .sexpr import parse_case
from .vocabulary import Vocabulary

__all__ = ["read_case"]

_PACKED = (".gz", ".xz", ".bz2", ".zip")


def read_case(source: SourceLike, vocabulary: Vocabulary, *, key: str = "") -> Case:
    """Returns the case in a file, in S-expressions or in JSON; its first character tells which.

    Args:
        source: a path, bytes or a file open in binary mode, compressed or not.
        vocabulary: what it is written in.
        key: key of the case. Where it is empty, the key that the file gives; without that, the name of the file
            without its ending.

    Raises:
        ParseError: the file is no case.
        ArityMismatch: a predicate has a wrong number of arguments.
        CaseError: an argument is of another kind than declared.
        DataMissing: there is no such file.

    Example:
        >>> read_case(b"(hot (entity sun))", Vocabulary.plain(), key="solar").key
        'solar'
    """
    found = read_source(source)
    text = read_text(found, wanted="a case")
    parse = parse_case_json if text.lstrip()[:1] in ("{", "[") else parse_case
    case = parse(text, vocabulary, path=found.path, key=key)
    return case if case.key else replace(case, key=_stem(found.path))


def _stem(path: str) -> str:
    """Returns the name of a file without its ending; empty for ``<bytes>`` and the like."""
    if path.startswith("<"):
        return ""
    name = PurePath(path)
    return PurePath(name.stem).stem if name.suffix.lower() in _PACKED else name.stem
