"""Which ontology an id or a domain belongs to."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import OntologyError
from ..ontologies.registry import OntologyRegistry

__all__ = ["DomainRouter"]


class DomainRouter:
    """Routes term ids by prefix (the longest wins) and domains by name to registered ontologies.

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
        self._domains: dict[str, str] = {}

    def register_prefix(self, prefix: str, ontology_name: str) -> None:
        """Sends ids that start with ``prefix`` to a registered ontology.

        Raises:
            OntologyError: no ontology is registered under that name.
        """
        self._prefixes[prefix] = self._known(ontology_name)

    def register_domain(self, domain: str, ontology_name: str) -> None:
        """Sends a domain to a registered ontology.

        Raises:
            OntologyError: no ontology is registered under that name.
        """
        self._domains[domain] = self._known(ontology_name)

    def ontology_for(self, term_id: str) -> str | None:
        """Returns the ontology of the longest registered prefix that ``term_id`` starts with, or None."""
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

    def _known(self, name: str) -> str:
        if name not in self._registry:
            registered = ", ".join(self._registry.names) or "none"
            raise OntologyError(f"route to {name}", f"registered are: {registered}", "Register the ontology first.")
        return name
