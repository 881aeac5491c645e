"""Patents as JSON: a document a line, or one list of them; fields are found by the names that are in use for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...errors import ParseError, QueryError
from ..readers.cpc_symbol import read_symbols
from ..report import LoadReport
from .gaf_text import day_of
from .patents_model import Document, Given, Patents, PatentsBuilder, read_position, read_value
from .structured import parse_json, shown

__all__ = ["is_patent_json", "read_patent_json"]

_IDS = ("id", "doc", "patent_id", "patent_number", "publication_number", "number")
_SYMBOLS = ("cpc", "symbols", "cpc_codes", "cpcs", "cpc_current")
_TITLES = ("title", "patent_title", "invention_title")
_ATTRIBUTES = {
    "date": ("grant_date", "date", "patent_date", "publication_date"),
    "source": ("assignee", "assignees", "assignee_organization", "applicant"),
    "kind": ("kind", "kind_code", "patent_type"),
}
# Of one symbol that is given as an object.
_SYMBOL = ("symbol", "code", "cpc", "cpc_group", "cpc_group_id", "cpc_subgroup_id", "subgroup_id")
_VALUE = ("value", "type", "cpc_type", "category", "inventive")
_POSITION = ("position", "first", "role")
_DAY = ("version", "version_date", "day", "date")
_SEQUENCE = ("sequence", "cpc_sequence", "rank")


def is_patent_json(head: bytes) -> bool:
    """Returns whether ``head``, the start of a file, looks like patents in JSON."""
    text = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if text[:1] not in ("{", "["):
        return False
    first = text.partition("\n")[0] if text[:1] == "{" else text
    first = first if len(first) > 4096 else text[:4096]
    if '"gold"' in first:  # queries with the answers that are known to be right are no collection of records
        return False
    return any(f'"{name}"' in first for name in _IDS) and any(f'"{name}"' in first for name in _SYMBOLS)


def read_patent_json(blocks: Iterable[tuple[int, list[str]]], path: str, report: LoadReport) -> Patents:
    """Returns the patents in a file.

    Args:
        blocks: position of the first line, and lines.
        path: the file, for errors.
        report: where lines that are no patent are told.

    Raises:
        ParseError: not one patent is there.
    """
    builder = PatentsBuilder(report)
    for line, value in _values(blocks, path, report):
        for item in _items(value):
            _take(builder, line, item, report)
    if not len(builder):
        raise ParseError(
            f"read {path} as patents in JSON",
            "no patent in it can be read",
            'Give one object a line, like {"id": "US1", "cpc": ["A01B1/00"]}.',
            path=path,
        )
    return builder.finish()


def _values(blocks: Iterable[tuple[int, list[str]]], path: str, report: LoadReport) -> Iterator[tuple[int, Any]]:
    """Yields each JSON value with its line: one a line, unless the first line only begins one that fills the file."""
    whole: list[tuple[int, str]] | None = None
    is_first = True
    for start, lines in blocks:
        for number, line in enumerate(lines, start + 1):
            if whole is not None:
                whole.append((number, line))
            elif is_first and line.strip() and not _is_closed(line):
                whole = [(number, line)]
            else:
                yield from _value(number, line, path, report)
            is_first = is_first and not line.strip()
    if whole is None:
        return
    try:
        value = parse_json("\n".join(line for _, line in whole), path)
    except QueryError:  # then its lines are values after all, the first of them a faulty one
        for number, line in whole:
            yield from _value(number, line, path, report)
    else:
        yield whole[0][0], value


def _value(number: int, line: str, path: str, report: LoadReport) -> Iterator[tuple[int, Any]]:
    if not line.strip():
        return
    try:
        yield number, parse_json(line, f"{path} line {number}")
    except QueryError as fault:
        report.error("unreadable", f"line {number} cannot be read: {fault.found}; left out", [number])


def _is_closed(line: str) -> bool:
    """Returns whether a line may be a value by itself: it ends as one does."""
    return len(line.strip()) > 1 and line.rstrip()[-1] in "}]"


def _items(value: Any) -> Iterator[Any]:
    """Yields the patents in a value: itself, those of a list, or those of the one list in an object without an id."""
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict) and not any(name in value for name in _IDS):
        lists = [inner for inner in value.values() if isinstance(inner, list)]
        yield from lists[0] if len(lists) == 1 else [value]
    else:
        yield value


def _take(builder: PatentsBuilder, line: int, item: Any, report: LoadReport) -> None:
    key = _text(_first(item, _IDS)) if isinstance(item, dict) else ""
    if not key:
        report.error("no-id", f"line {line} holds {shown(item)} without an id; left out", [line])
        return
    found = {name: _texts(_first(item, names)) for name, names in _ATTRIBUTES.items()}
    found["date"] = [day_of(text) or text for text in found["date"]]
    document = Document(line, _text(_first(item, _TITLES)), {name: texts for name, texts in found.items() if texts})
    given = _first(item, _SYMBOLS)
    listed = given if isinstance(given, list) else [] if given is None else [given]
    builder.add(key, document, [one for entry in listed for one in _given(entry, key, line, report)])


def _given(entry: Any, key: str, line: int, report: LoadReport) -> list[Given]:
    if isinstance(entry, str):
        found = read_symbols(entry)
        return [Given(one) for one in found.symbols] if len(found.symbols) > 1 and not found.rest else [Given(entry)]
    symbol = _text(_first(entry, _SYMBOL)) if isinstance(entry, dict) else ""
    if not symbol:
        report.error("no-symbol", f"{key} has {shown(entry)} in the place of a symbol; left out", [line], [key])
        return []
    value, position = _flag(entry, _VALUE), _flag(entry, _POSITION)
    read = read_value({"true": "inventive", "false": "additional"}.get(value.lower(), value)), read_position(position)
    for text, known in zip((value, position), read, strict=True):
        if known is None:
            report.warn(
                "value", f"{key} has {symbol} with {text!r}, which is not understood; it counts as open", [line]
            )
    return [Given(symbol, read[0] or "", read[1] or "", _text(_first(entry, _DAY)), _text(_first(entry, _SEQUENCE)))]


def _first(item: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((item[name] for name in names if item.get(name) is not None), None)


def _flag(entry: Mapping[str, Any], names: Iterable[str]) -> str:
    found = _first(entry, names)
    return str(found).lower() if isinstance(found, bool) else _text(found)


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else str(value) if type(value) in (int, float) else ""


def _texts(value: Any) -> list[str]:
    return [text for one in (value if isinstance(value, list) else [value]) if (text := _text(one))]
