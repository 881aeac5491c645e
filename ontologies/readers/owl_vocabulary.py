"""Addresses that OWL, SKOS and the OBO Foundry fix the meaning of."""

from __future__ import annotations

__all__ = ["BUILT_IN", "DCT", "IAO", "OBO", "OIO", "OWL", "RDF", "RDFS", "SKOS", "SKOSXL", "TYPE", "XSD", "YES"]

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
XSD = "http://www.w3.org/2001/XMLSchema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
SKOSXL = "http://www.w3.org/2008/05/skos-xl#"
DCT = "http://purl.org/dc/terms/"
OBO = "http://purl.obolibrary.org/obo/"
IAO = f"{OBO}IAO_"
OIO = "http://www.geneontology.org/formats/oboInOwl#"
TYPE = f"{RDF}type"

BUILT_IN = (RDF, RDFS, OWL, XSD)
"""Namespaces whose names are no terms of an ontology."""

YES = frozenset({"true", "1", "yes"})
"""Texts that mean true, in lower case."""
