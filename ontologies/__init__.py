"""Ontologies and annotation records: the immutable Ontology, its readers, record readers, registry and manifests."""
