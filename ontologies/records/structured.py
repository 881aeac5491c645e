"""JSON and YAML text into plain values, refusing what the usual parsers pass over in silence."""

from __future__ import annotations

import codecs
import json
from collections.abc import Hashable
from typing import Any

from ...errors import DataMissing, QueryError

__all__ = ["as_text", "parse_json", "parse_text", "shown"]


def as_text(content: bytes, where: str) -> str:
    """Returns ``content`` as text: UTF-8, or UTF-16 where a byte-order mark says so.

    Raises:
        QueryError: it is neither.
    """
    marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError as fault:
        raise QueryError(
            f"read {where}",
            f"byte {fault.start + 1} is not {'UTF-16' if marked else 'UTF-8'} text",
            "Save it as UTF-8.",
        ) from fault


def parse_json(text: str, where: str) -> Any:
    """Returns the value that ``text`` writes in JSON.

    Raises:
        QueryError: it is no JSON, is nested beyond reason, or gives one name twice in an object, of which a usual
            parser would keep the last alone.
    """
    try:
        return json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as fault:
        raise QueryError(
            f"read {where} as JSON",
            f"{fault.msg} at line {fault.lineno} column {fault.colno}",
            "Mend the JSON there; the record may have been cut off.",
        ) from fault
    except ValueError as fault:  # a number with more digits than Python converts
        raise QueryError(f"read {where} as JSON", str(fault), "Give a plain record.") from fault
    except RecursionError as fault:
        raise QueryError(f"read {where} as JSON", "it is nested too deeply", "Give a plain record.") from fault
    except _Repeated as fault:
        raise QueryError(
            f"read {where} as JSON",
            f"one object gives {fault.args[0]!r} twice",
            "Keep one of the two; readers would differ in which they believe.",
        ) from fault


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
    return _parse_yaml(text, where)


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
        names = [name for name, _ in pairs]
        raise _Repeated(next(name for name in names if names.count(name) > 1))
    return made


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
            raise _Repeated(next(name for name in names if names.count(name) > 1))
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
