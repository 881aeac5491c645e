"""Cases as JSON, the form that programs exchange.

    {"schema": "sma-gpu/case/1", "key": "solar", "name": "the solar system",
     "statements": [{"functor": "hot", "args": [{"entity": "sun", "type": "star"}], "negated": true, "weight": 0.5}],
     "excluded": ["charged"]}

An argument is an entity or another statement. ``key``, ``name``, ``type``, ``negated``, ``weight`` and ``excluded`` may
be left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import CaseError, QueryError
from ..ontologies.records.structured import parse_json, shown
from .drafts import CaseDraft, EntityDraft, StatementDraft
from .model import Case, Entity, Statement
from .plaintext import refuse_half_characters
from .spelling import refuse_too_long, refuse_unwritable, written_length
from .vocabulary import Vocabulary

__all__ = ["SCHEMA", "parse_case_json", "print_case_json"]

SCHEMA = "sma-gpu/case/1"

_CASE_FIELDS = ("schema", "key", "name", "statements", "excluded")
_STATEMENT_FIELDS = ("functor", "args", "negated", "weight")
_ENTITY_FIELDS = ("entity", "type")
_SHOWN = 40
_NO_LIMIT = "Write the case as S-expressions, which may be nested to any depth."


def parse_case_json(text: str, vocabulary: Vocabulary, *, path: str = "<text>", key: str = "") -> Case:
    """Returns the case that ``text`` writes in JSON; what holds of ``parse_case`` holds here.

    Args:
        text: the text.
        vocabulary: what it is written in.
        path: name of the text in messages.
        key: key of the case; where it is empty, that of the text.

    Raises:
        ParseError: the text is no case; its line or the path inside it is named.
        ArityMismatch: a predicate has a wrong number of arguments.
        CaseError: an argument is of another kind than declared.

    Example:
        >>> text = '{"schema": "sma-gpu/case/1", "statements": [{"functor": "hot", "args": [{"entity": "sun"}]}]}'
        >>> parse_case_json(text, Vocabulary.plain(), key="solar").statements[0].functor.id
        'hot'
    """
    draft = CaseDraft(path, vocabulary)
    try:
        value = parse_json(text, path)
    except QueryError as fault:
        cause = fault.__cause__
        do = _NO_LIMIT if isinstance(cause, RecursionError) else fault.do
        line = cause.lineno if isinstance(cause, json.JSONDecodeError) else None
        raise draft.fault(line, fault.found, do) from fault
    _Reader(draft).read(value)
    return draft.freeze(key)


def print_case_json(case: Case) -> str:
    """Returns ``case`` as JSON, one statement a line; ``parse_case_json`` reads it back.

    Raises:
        CaseError: a name is empty or holds half a character, or two entities have one name; or the case is nested
            deeper than JSON can be read, or its text would be longer than ``spelling.LONGEST``.

    Example:
        >>> from sma_gpu.cases.model import Predicate
        >>> print(print_case_json(Case("solar", (Statement(Predicate("hot"), (Entity("sun"),)),))), end="")
        {"schema": "sma-gpu/case/1", "key": "solar", "statements": [
          {"functor": "hot", "args": [{"entity": "sun"}]}
        ]}
    """
    refuse_unwritable(case)
    asked = f"print case {case.key!a} as JSON"
    length = written_length(case.statements, _own_length, lambda e: len(_dump(_entity_object(e))))
    refuse_too_long(sum(length[s] for s in case.statements), asked)
    named = f', "name": {_dump(case.name)}' if case.name else ""
    excluded = f', "excluded": {_dump(case.excluded)}' if case.excluded else ""
    try:
        lines = ",\n  ".join(_dump(_statement_object(statement)) for statement in case.statements)
    except RecursionError as fault:
        raise CaseError(asked, "it is nested too deeply for JSON", _NO_LIMIT) from fault
    text = f'{{"schema": "{SCHEMA}", "key": {_dump(case.key)}{named}, "statements": [\n  {lines}\n]{excluded}}}\n'
    return refuse_half_characters(text, asked)


class _Reader:
    """Reads the value of one JSON text into a draft."""

    def __init__(self, draft: CaseDraft) -> None:
        self.draft = draft

    def read(self, value: Any) -> None:
        fields = self._object(value, "", _CASE_FIELDS, ("schema", "statements"))
        if fields["schema"] != SCHEMA:
            raise self.draft.fault(
                "schema", f"it is {shown(fields['schema'])}", f'Give "{SCHEMA}", the form that is read here.'
            )
        self.draft.key = self._text(fields.get("key", ""), "key")
        self.draft.name = self._text(fields.get("name", ""), "name")
        for i, term in enumerate(self._list(fields.get("excluded", []), "excluded")):
            self.draft.exclude(self._text(term, f"excluded[{i}]"), f"excluded[{i}]")
        for i, statement in enumerate(self._list(fields["statements"], "statements")):
            self.draft.roots.append(self._statement(statement, f"statements[{i}]"))

    def _statement(self, value: Any, place: str) -> StatementDraft:
        """Returns the statement in ``value``, entered behind those inside it."""
        root, args = self._head(value, place)
        walk = [(root, iter(enumerate(args)))]
        while walk:
            statement, rest = walk[-1]
            i, argument = next(rest, (-1, None))
            if i < 0:
                self.draft.statements.append(statement)
                walk.pop()
                continue
            here = f"{statement.place}.args[{i}]"
            if isinstance(argument, dict) and "entity" in argument:
                statement.args.append(self._entity(argument, here))
            else:
                if isinstance(argument, str):
                    entity = _dump({"entity": argument[:_SHOWN]})
                    raise self.draft.fault(here, f"it is {shown(argument)}", f"For an entity write {entity}.")
                inner, args = self._head(argument, here)
                statement.args.append(inner)
                walk.append((inner, iter(enumerate(args))))
        return root

    def _head(self, value: Any, place: str) -> tuple[StatementDraft, list[Any]]:
        """Returns the statement in ``value`` without its arguments, and these."""
        if isinstance(value, dict) and "entity" in value:
            raise self.draft.fault(place, "it is an entity, where a statement is wanted", "Say something of it.")
        fields = self._object(value, place, _STATEMENT_FIELDS, ("functor", "args"))
        functor = self._text(fields["functor"], f"{place}.functor")
        args = self._list(fields["args"], f"{place}.args")
        negated, weight = fields.get("negated", False), fields.get("weight", 1.0)
        if not isinstance(negated, bool):
            raise self.draft.fault(f"{place}.negated", f"it is {shown(negated)}", "Give true or false.")
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight <= 1:
            found = f"it is {shown(weight)}"
            raise self.draft.fault(f"{place}.weight", found, "Give a number above 0 and at most 1.")
        return StatementDraft(functor, [], place, negated, float(weight)), args

    def _entity(self, value: Mapping[str, Any], place: str) -> EntityDraft:
        fields = self._object(value, place, _ENTITY_FIELDS, ("entity",))
        name = self._text(fields["entity"], f"{place}.entity")
        kind = self._text(fields["type"], f"{place}.type") if "type" in fields else None
        entity = EntityDraft(name, kind, place)
        self.draft.entities.append(entity)
        return entity

    def _object(self, value: Any, place: str, known: tuple[str, ...], needed: tuple[str, ...]) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self.draft.fault(place, f"it is {shown(value)}", f"Give an object with {', '.join(needed)}.")
        for name in value:
            if name not in known:
                raise self.draft.fault(
                    place, f"the field {name!r:.60} is not known", f"Fields known here: {', '.join(known)}."
                )
        for name in needed:
            if name not in value:
                raise self.draft.fault(place, f"the field {name} is missing", "Add it.")
        return value

    def _list(self, value: Any, place: str) -> list[Any]:
        if not isinstance(value, list):
            raise self.draft.fault(place, f"it is {shown(value)}", "Give a list.")
        return value

    def _text(self, value: Any, place: str) -> str:
        if not isinstance(value, str):
            raise self.draft.fault(place, f"it is {shown(value)}", "Give text, in quotes.")
        return value


def _statement_object(root: Statement) -> dict[str, Any]:
    """Returns a statement as plain values, each distinct part made once."""
    made: dict[Statement, dict[str, Any]] = {}
    for statement in sorted(root.walk(), key=lambda s: s.order):  # each behind those inside it
        args = [_entity_object(a) if isinstance(a, Entity) else made[a] for a in statement.args]
        made[statement] = _fields(statement, args)
    return made[root]


def _fields(statement: Statement, args: list[dict[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {"functor": statement.functor.id, "args": args}
    if statement.negated:
        fields["negated"] = True
    if statement.weight != 1:
        fields["weight"] = float(statement.weight)
    return fields


def _own_length(statement: Statement) -> int:
    """Returns how many characters a statement takes beside its arguments."""
    return len(_dump(_fields(statement, []))) + 2 * max(0, len(statement.args) - 1)


def _entity_object(entity: Entity) -> dict[str, str]:
    return {"entity": entity.name, **({"type": entity.type} if entity.type != Entity.type else {})}


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
