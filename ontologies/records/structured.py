"""JSON and YAML text into plain values, refusing what the usual parsers pass over in silence."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from typing import Any

from ...errors import DataMissing, QueryError
from ..report import LoadReport

__all__ = ["as_text", "bare_id", "parse_json", "parse_text", "shown"]

_BLANKS = " \t\r\n\f\v\u00a0\u2007\u202f\u3000\u200b\ufeff"


def as_text(content: bytes, where: str) -> str:
    """Returns ``content`` as text: UTF-8, or UTF-16 or UTF-32 where its first bytes say so, with a mark or without.

    Raises:
        QueryError: it is none of them.
    """
    encoding = json.detect_encoding(content)
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as fault:
        raise QueryError(
            f"read {where}",
            f"byte {fault.start + 1} is not {'-'.join(encoding.upper().split('-')[:2])} text",
            "Save it as UTF-8.",
        ) from fault


def bare_id(text: str, place: str, report: LoadReport) -> str:
    """Returns an id without blanks around it, with a note where there are some; empty where it is blank."""
    bare = text.strip(_BLANKS)
    if bare and bare != text:
        report.note("padded-id", f"the blanks around {bare!r} are no part of the id", ids=[bare], where=place)
    return bare


def parse_json(text: str, where: str) -> Any:
    """Returns the value that ``text`` writes in JSON.

    Raises:
        QueryError: it is no JSON, is nested beyond reason, holds half a character, or gives one name twice in an
            object, of which a usual parser would keep the last alone.
    """
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as fault:
        raise QueryError(
            f"read {where} as JSON",
            f"{fault.msg} at line {fault.lineno} column {fault.colno}",
            "Mend the JSON there; the record may have been cut off.",
        ) from fault
    except ValueError as fault:  # NaN, or a number with more digits than Python converts
        raise QueryError(f"read {where} as JSON", str(fault), "Give a plain record.") from fault
    except RecursionError as fault:
        raise QueryError(f"read {where} as JSON", "it is nested too deeply", "Give a plain record.") from fault
    except _Repeated as fault:
        raise QueryError(
            f"read {where} as JSON",
            f"one object gives {fault.args[0]!r} twice",
            "Keep one of the two; readers would differ in which they believe.",
        ) from fault
    return _whole(text, value, where)


def parse_text(text: str, where: str) -> Any:
    """Returns the value that ``text`` writes in JSON or, where it does not start like JSON, in YAML.

    Raises:
        QueryError: it is neither.
        DataMissing: it is not JSON, and PyYAML is not installed.
    """
    if text.lstrip()[:1] in ("{", "["):
        return parse_json(text, where)
    if not text.strip():
        raise QueryError(f"read {where}", "it is empty", "Give a phenopacket in JSON or YAML.")
    return _whole(text, _parse_yaml(text, where), where)


def shown(value: object) -> str:
    """Returns a short picture of a value for an error message."""
    kinds = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    kind = kinds.get(type(value), "a number" if isinstance(value, (int, float)) else type(value).__name__)
    if isinstance(value, (dict, list)):
        return kind
    text = json.dumps(value, ensure_ascii=False, default=str)
    return f"{kind} ({text if len(text) <= 40 else text[:37] + '...'})" if value is not None else kind


class _Repeated(Exception):
    """A name occurs twice in one object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _Repeated(_first_repeat(name for name, _ in pairs))
    return made


def _first_repeat(names: Iterable[str]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return ""


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")


def _whole(text: str, value: Any, where: str) -> Any:
    """Returns ``value`` where all its text can be written again. An escape can give half of a surrogate pair."""
    waiting, seen = [value] if "\\" in text else [], set()
    while waiting:
        item = waiting.pop()
        if isinstance(item, str) and not item.isascii():
            _refuse_half(item, where)
        elif isinstance(item, (dict, list)) and id(item) not in seen:  # YAML can hold a value in itself
            seen.add(id(item))
            waiting.extend([*item, *item.values()] if isinstance(item, dict) else item)
    return value


def _refuse_half(text: str, where: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as fault:
        raise QueryError(
            f"read {where}",
            f"the text {ascii(text)[:40]} holds half a character (an escape of one surrogate alone)",
            "Write the whole character, or the escapes of both its halves.",
        ) from fault


def _parse_yaml(text: str, where: str) -> Any:
    try:
        import yaml
    except ImportError as fault:
        raise DataMissing(
            f"read {where} as YAML",
            "the package PyYAML is not installed",
            "Install it with: pip install pyyaml. Or convert the file to JSON.",
        ) from fault

    class Loader(yaml.SafeLoader):
        """Plain values only, and no name twice."""

    def construct(loader: Loader, node: yaml.MappingNode) -> dict[Hashable, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"]
        if len(set(names)) < len(names):
            raise _Repeated(_first_repeat(names))
        return loader.construct_mapping(node, deep=True)

    Loader.add_constructor("tag:yaml.org,2002:map", construct)

    try:
        return yaml.load(text, Loader)  # a SafeLoader: it makes plain values only
    except (yaml.YAMLError, ValueError, RecursionError) as fault:
        mark = getattr(fault, "problem_mark", None)
        place = f" at line {mark.line + 1} column {mark.column + 1}" if mark is not None else ""
        reason = getattr(fault, "problem", None) or str(fault).split("\n")[0] or "it is nested too deeply"
        raise QueryError(
            f"read {where} as YAML", f"{reason}{place}", "Give one phenopacket in JSON or YAML."
        ) from fault
    except _Repeated as fault:
        raise QueryError(
            f"read {where} as YAML",
            f"one mapping gives {fault.args[0]!r} twice",
            "Keep one of the two; readers would differ in which they believe.",
        ) from fault
