"""Readers: each says whether it can read the content, and turns it into an Ontology."""
