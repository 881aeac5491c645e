"""The vocabulary that cases are written in: the lattice of their predicates, signatures, types of constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ..errors import ArityMismatch, CaseError
from ..ontologies.builder import ontology_from_parents
from ..ontologies.loading import READERS, load_ontology
from ..ontologies.magic import look_at, refusal
from ..ontologies.mount import Mounted, mount
from ..ontologies.source import SourceLike, read_source
from .declarations import Signature, read_declarations
from .model import Case, Entity, Predicate, Statement
from .spelling import short_name, short_text

__all__ = ["Signature", "Vocabulary", "read_vocabulary"]

_SHOWN = 120  # characters of a statement in a message
_HEAD_BYTES = 65536


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """A mounted lattice, and what is declared about the arguments of its predicates.

    A predicate without a signature takes what it is given, the same number of arguments throughout a case. A functor
    that the lattice lacks can be read and checked like any other; ``missing`` names it, ``with_predicates`` adds it.

    Attributes:
        mounted: the lattice.
        signatures: signature of each predicate that has one.
        constant_types: types of which each entity matches only itself.

    Example:
        >>> words = Vocabulary.plain().with_predicates(["hot"])
        >>> words.predicate("hot"), words.mounted.ids
        (Predicate(id='hot', commutative=False, variadic=False), ('hot',))
    """

    mounted: Mounted
    signatures: Mapping[str, Signature] = field(default_factory=dict)
    constant_types: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "signatures", MappingProxyType(dict(self.signatures)))
        object.__setattr__(self, "constant_types", frozenset(self.constant_types))

    @classmethod
    def of(cls, mounted: Mounted) -> Vocabulary:
        """Returns the vocabulary of an ontology: its terms, and its typed relations as predicates over two statements.

        A relation whose id is that of a term too stays a term.
        """
        relations = [r for r in mounted.ontology.relation_ids if r not in mounted.ontology.number]
        both = Signature(("statement", "statement"))
        return cls(mounted, dict.fromkeys(relations, both)).with_predicates(relations)

    @classmethod
    def plain(cls) -> Vocabulary:
        """Returns a vocabulary that declares nothing, for cases that match by equal functors alone."""
        return cls(mount(ontology_from_parents({}, name="the empty vocabulary")))

    def predicate(self, functor: str) -> Predicate:
        """Returns the predicate with this id, as its signature declares it."""
        signature = self.signatures.get(functor)
        if signature is None:
            return Predicate(functor)
        return Predicate(functor, commutative=signature.commutative, variadic=signature.variadic)

    def entity(self, name: str, type: str = Entity.type) -> Entity:
        """Returns the entity of this name and type, a constant if its type is one of constants."""
        return Entity(name, type, type in self.constant_types)

    def check(self, case: Case) -> None:
        """Returns nothing where every statement of ``case`` is as declared.

        Raises:
            ArityMismatch: a predicate has more or fewer arguments than it takes.
            CaseError: an argument is of another kind than declared, or a predicate or an entity is made otherwise than
                ``predicate`` and ``entity`` make it.
        """
        for statement in case.walk():
            self.check_statement(statement, asked=f"case {case.key!r}")

    def check_statement(self, statement: Statement, *, asked: str = "statement") -> None:
        """Returns nothing where one statement, apart from those inside it, is as declared; raises as ``check`` does."""
        for argument in statement.args:
            if isinstance(argument, Entity) and argument.type in self.constant_types and not argument.constant:
                raise CaseError(
                    asked,
                    f"{short_name(argument.name)} is no constant, but entities of type {short_name(argument.type)} are "
                    "declared constant",
                    "Make entities with Vocabulary.entity.",
                )
        functor = statement.functor
        signature = self.signatures.get(functor.id)
        if signature is None:
            return
        if functor != self.predicate(functor.id):
            raise CaseError(
                asked,
                f"{functor.id} is used as {functor}, but is declared as {self.predicate(functor.id)}",
                "Make predicates with Vocabulary.predicate.",
            )
        count = len(statement.args)
        if not signature.takes(count):
            raise ArityMismatch(
                asked,
                f"{functor.id} takes {signature.arity}, but {short_text(statement, limit=_SHOWN)} has {count}",
                "Give it as many arguments as it is declared with, or change the declaration.",
            )
        for place, argument in enumerate(statement.args):
            wanted = signature.kind(place)
            found = _kind_fault(argument, wanted)
            if found:
                raise CaseError(
                    asked,
                    f"argument {place + 1} of {short_text(statement, limit=_SHOWN)} is {found}; "
                    f"{functor.id} wants {_KINDS.get(wanted, f'an entity of type {wanted}')} there",
                    "Change the argument, or the declared kind.",
                )

    def missing(self, cases: Iterable[Case]) -> tuple[str, ...]:
        """Returns the ids that ``cases`` use as functors or exclude and the lattice lacks, by code point."""
        used: set[str] = set()
        for case in cases:
            used.update(statement.functor.id for statement in case.walk())
            used.update(case.excluded)
        return tuple(sorted(used - self.mounted.number.keys()))

    def with_predicates(self, ids: Iterable[str]) -> Vocabulary:
        """Returns this vocabulary with more predicates, which have no place in the is-a order.

        Ids that are there already change nothing.
        """
        return replace(self, mounted=mount(self.mounted.ontology, {*self.mounted.predicates, *ids}))


_KINDS = {"entity": "an entity", "statement": "a statement", "any": "anything"}


def _kind_fault(argument: Entity | Statement, wanted: str) -> str:
    """Returns what ``argument`` is where that is not what is wanted, or nothing."""
    if wanted == "any":
        return ""
    if isinstance(argument, Statement):
        return "" if wanted == "statement" else "a statement"
    if wanted == "entity" or (wanted == argument.type and wanted != "statement"):
        return ""
    return f"an entity ({short_name(argument.name)}, of type {short_name(argument.type)})"


def read_vocabulary(source: SourceLike, *, name: str | None = None, strict: bool = False) -> Vocabulary:
    """Returns the vocabulary in a file: an ontology, or declarations in plain text.

    Declarations stand one a line; ``#`` begins a comment; several lines about one predicate add up; words with blanks,
    commas or quotes in them stand in double quotes::

        pressure is-a quantity, measure
        causes is-a relation args statement statement
        and args statement... commutative       # the last kind repeats
        constant number                         # entities of type number match only themselves

    A kind is ``entity``, ``statement``, ``any``, or the type that an entity must have.

    Args:
        source: a path, bytes or a file open in binary mode, compressed or not.
        name: name of the source in messages.
        strict: refuse an ontology with a warning instead of reporting and going on. Declarations are always read so.

    Raises:
        ParseError: the file is neither, or it contradicts itself.
        CycleFound: the is-a relation has a cycle.
        DataMissing: there is no such file.

    Example:
        >>> read_vocabulary(b"flow is-a process args entity entity").signatures["flow"].kinds
        ('entity', 'entity')
    """
    found = read_source(source, name=name)
    content = found.content()
    # The beginning first, since it tells for all but a few and some ontologies are large.
    if any(reader.can_read(part) for part in (content[:_HEAD_BYTES], content) for reader in READERS):
        return Vocabulary.of(mount(load_ontology(found, strict=strict)))
    if look_at(content).what:
        raise refusal(content, asked=f"read {found.path} as a vocabulary", path=found.path, otherwise="", do="")
    declared = read_declarations(found)
    return Vocabulary(mount(declared.ontology), declared.signatures, declared.constant_types)
