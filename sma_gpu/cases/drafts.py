"""A case while it is being read: what the readers of all formats share.

A reader notes entities and statements as they come, with the place of each; what is said in one place about a name
that stands in others (the type of an entity, the arguments of a predicate) is settled at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ArityMismatch, CaseError, ParseError
from .model import Case, Entity, Predicate, Statement
from .plaintext import visible
from .vocabulary import Vocabulary

__all__ = ["CaseDraft", "EntityDraft", "StatementDraft"]

Place = int | str


@dataclass(eq=False, slots=True)
class EntityDraft:
    """A mention of an entity; ``type`` is None where it is not said. ``place`` is a line, or a path inside JSON."""

    name: str
    type: str | None
    place: Place


@dataclass(eq=False, repr=False, slots=True)
class StatementDraft:
    """A statement; ``weight`` is None where it is not said."""

    functor: str
    args: list[EntityDraft | StatementDraft]
    place: Place
    negated: bool = False
    weight: float | None = None


class CaseDraft:
    """The parts of one case.

    Args:
        path: the file, for messages.
        vocabulary: what the case is written in.

    Attributes:
        entities: every mention of an entity, in the order of the text.
        statements: every statement, each behind those inside it.
        roots: those at the top, in the order of the text.
        excluded: ids of terms that are absent.
        key: the key that the text gives.
        name: the name that the text gives.
    """

    def __init__(self, path: str, vocabulary: Vocabulary) -> None:
        self.path = path
        self.entities: list[EntityDraft] = []
        self.statements: list[StatementDraft] = []
        self.roots: list[StatementDraft] = []
        self.excluded: list[str] = []
        self.key = ""
        self.name = ""
        self._vocabulary = vocabulary

    def asked(self, place: Place | None) -> str:
        """Returns the first part of a message about a place."""
        if place is None or place == "":
            return f"read {self.path} as a case"
        return f"read {self.path}, {_at(place)}, as a case"

    def fault(self, place: Place | None, found: str, do: str) -> ParseError:
        """Returns the error about a place in the file."""
        line = place if isinstance(place, int) else None
        return ParseError(self.asked(place), visible(found), visible(do), path=self.path, line=line)

    def exclude(self, term: str, place: Place) -> None:
        """Enters a term that is absent.

        Raises:
            ParseError: its id is empty.
        """
        if not term:
            raise self.fault(place, "an excluded term has an empty name", "Give it a name, or take it out.")
        self.excluded.append(term)

    def freeze(self, key: str = "") -> Case:
        """Returns the case under ``key``, or the text's own key where that is empty.

        A statement or an exclusion that is given more than once counts once.

        Raises:
            ParseError: a name is empty, an entity has two types, or there is no statement.
            ArityMismatch: a predicate has another number of arguments than it takes, or than it has elsewhere.
            CaseError: an argument is of another kind than declared.
        """
        self._refuse_empty_names()
        types = self._types()
        predicates: dict[str, Predicate] = {}
        first_use: dict[str, StatementDraft] = {}
        made: dict[StatementDraft, Statement] = {}

        def item(draft: EntityDraft | StatementDraft) -> Entity | Statement:
            if isinstance(draft, StatementDraft):
                return made[draft]
            return self._vocabulary.entity(draft.name, types.get(draft.name, Entity.type))

        for draft in self.statements:
            functor = predicates.setdefault(draft.functor, self._vocabulary.predicate(draft.functor))
            known = first_use.setdefault(draft.functor, draft)
            weight = 1.0 if draft.weight is None else draft.weight
            statement = Statement(functor, tuple(map(item, draft.args)), draft.negated, weight)
            try:
                self._vocabulary.check_statement(statement)
            except CaseError as fault:
                raise type(fault)(self.asked(draft.place), visible(fault.found), fault.do) from fault
            if len(known.args) != len(draft.args) and not functor.variadic:
                raise ArityMismatch(
                    self.asked(draft.place),
                    f"{visible(functor.id)} is used with {len(draft.args)} arguments here, and with {len(known.args)} "
                    f"on {_at(known.place)}",
                    "Give a predicate the same number of arguments throughout, or declare it variadic.",
                )
            made[draft] = statement
        if not self.roots:
            raise self.fault(None, "it holds no statement", "State at least one, as in: (hot (entity sun))")
        statements = dict.fromkeys(made[root] for root in self.roots)
        return Case(key or self.key, tuple(statements), self.name, tuple(self.excluded))

    def _refuse_empty_names(self) -> None:
        for entity in self.entities:
            if not entity.name or entity.type == "":
                what = "the type of an entity" if entity.name else "an entity"
                raise self.fault(entity.place, f"{what} has an empty name", "Give it a name.")
        for statement in self.statements:
            if not statement.functor:
                raise self.fault(statement.place, "a predicate has an empty name", "Give it a name.")

    def _types(self) -> dict[str, str]:
        """Returns the type of each entity for which one is given."""
        given: dict[str, EntityDraft] = {}
        for entity in self.entities:
            if entity.type is None:
                continue
            known = given.setdefault(entity.name, entity)
            if known.type != entity.type:
                raise self.fault(
                    entity.place,
                    f"entity {entity.name} is of type {entity.type} here, and of type {known.type} on "
                    f"{_at(known.place)}",
                    "Give an entity one type, or different entities different names.",
                )
        return {name: entity.type for name, entity in given.items() if entity.type is not None}


def _at(place: Place) -> str:
    return f"line {place}" if isinstance(place, int) else place
