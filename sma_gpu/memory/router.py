"""Which ontology an id or a domain belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..errors import OntologyError
from ..ontologies.registry import OntologyRegistry

__all__ = ["DomainRouter", "Split"]


@dataclass(frozen=True)
class Split:
    """The ids of a query by the ontology that they belong to.

    Attributes:
        parts: by ontology, in the order in which these were met, its ids in the order given.
        unrouted: ids that belong to no registered ontology.
        note: one sentence on how the query was split; empty where all ids belong to one ontology.
    """

    parts: Mapping[str, tuple[str, ...]]
    unrouted: tuple[str, ...]
    note: str


class DomainRouter:
    """Routes term ids to registered ontologies, by pattern or prefix, and domains by name.

    A pattern that fits a whole id comes before any prefix, the pattern registered last first; among prefixes the
    longest wins.

    Example:
        >>> from sma_gpu import DomainRouter, OntologyRegistry
        >>> registry = OntologyRegistry()
        >>> _ = registry.register("hpo", "hp.obo")
        >>> router = DomainRouter(registry)
        >>> router.register_prefix("HP:", "hpo")
        >>> router.route(["HP:0001166"])
        ['hpo']
    """

    def __init__(self, registry: OntologyRegistry) -> None:
        self._registry = registry
        self._prefixes: dict[str, str] = {}
        self._patterns: list[tuple[re.Pattern[str], str]] = []
        self._domains: dict[str, str] = {}

    def register_prefix(self, prefix: str, ontology_name: str) -> None:
        """Sends ids that start with ``prefix`` to a registered ontology.

        Raises:
            OntologyError: no ontology is registered under that name.
        """
        self._prefixes[prefix] = self._known(ontology_name)

    def register_pattern(self, pattern: str, ontology_name: str) -> None:
        """Sends ids that the regular expression ``pattern`` fits from end to end to a registered ontology.

        Raises:
            OntologyError: no ontology is registered under that name, or the pattern is no regular expression.
        """
        try:
            compiled = re.compile(pattern)
        except re.error as fault:
            asked = f"route ids like {pattern!r} to {ontology_name}"
            raise OntologyError(asked, f"that is no regular expression ({fault})", "Mend the pattern.") from fault
        self._patterns.append((compiled, self._known(ontology_name)))

    def register_domain(self, domain: str, ontology_name: str) -> None:
        """Sends a domain to a registered ontology.

        Raises:
            OntologyError: no ontology is registered under that name.
        """
        self._domains[domain] = self._known(ontology_name)

    def ontology_for(self, term_id: str) -> str | None:
        """Returns the ontology whose pattern fits ``term_id``, else that of the longest prefix of it, or None."""
        for pattern, name in reversed(self._patterns):
            if pattern.fullmatch(term_id):
                return name
        fitting = [prefix for prefix in self._prefixes if term_id.startswith(prefix)]
        return self._prefixes[max(fitting, key=len)] if fitting else None

    def route(self, term_ids: Iterable[str] | None = None, domain: str | None = None) -> list[str]:
        """Returns the ontologies to consult: the domain's first, then the ids', in the order met, each once."""
        found: list[str] = []
        if domain is not None and domain in self._domains:
            found.append(self._domains[domain])
        for term_id in term_ids or ():
            name = self.ontology_for(term_id)
            if name is not None:
                found.append(name)
        return list(dict.fromkeys(found))

    def split(self, term_ids: Iterable[str]) -> Split:
        """Returns the ids of a query by the ontology that they belong to, so that each can be asked for its own.

        Example:
            >>> from sma_gpu import DomainRouter, OntologyRegistry
            >>> registry = OntologyRegistry()
            >>> _ = registry.register("hpo", "hp.obo"), registry.register("go", "go.obo")
            >>> router = DomainRouter(registry)
            >>> router.register_prefix("HP:", "hpo")
            >>> router.register_pattern("GO:[0-9]{7}", "go")
            >>> found = router.split(["HP:0001166", "GO:0005634", "X"])
            >>> dict(found.parts), found.unrouted
            ({'hpo': ('HP:0001166',), 'go': ('GO:0005634',)}, ('X',))
            >>> found.note
            'the query is split: 1 id of hpo, 1 id of go, 1 id of no registered ontology'
        """
        parts: dict[str, list[str]] = {}
        unrouted: list[str] = []
        for term_id in term_ids:
            name = self.ontology_for(term_id)
            (unrouted if name is None else parts.setdefault(name, [])).append(term_id)
        told = [(len(ids), name) for name, ids in parts.items()]
        told += [(len(unrouted), "no registered ontology")] if unrouted else []
        words = ", ".join(f"{count} id{'' if count == 1 else 's'} of {name}" for count, name in told)
        note = f"the query is split: {words}" if len(told) > 1 else ""
        return Split({name: tuple(ids) for name, ids in parts.items()}, tuple(unrouted), note)

    def _known(self, name: str) -> str:
        if name not in self._registry:
            registered = ", ".join(self._registry.names) or "none"
            raise OntologyError(f"route to {name}", f"registered are: {registered}", "Register the ontology first.")
        return name
