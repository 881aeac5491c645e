"""Whether what was loaded lies in a mapped file, and whether two ontologies or tables of records are the same."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from sma_gpu.ontologies.compiled import ontology_to_arrays
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.records.model import Records


def is_mapped(array: npt.NDArray[Any]) -> bool:
    """Returns whether an array lies in a file that is mapped into memory, and was not copied from it."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base.obj if isinstance(base, memoryview) else base, mmap.mmap)


def arrays_of_ontology(ontology: Ontology) -> dict[str, npt.NDArray[Any]]:
    """Returns the columns of an ontology that it keeps as arrays."""
    texts = {
        name: getattr(ontology, name)
        for name in ("names", "definitions", "references", "synonym_texts", "synonym_languages")
    }
    plain = ("placeholder", "parent_ptr", "parents", "synonym_ptr", "synonym_scopes", "relations")
    return {
        **{name: getattr(ontology, name) for name in plain},
        **{name: column.blob_array for name, column in texts.items()},
        **{f"{name}_ends": column.ends for name, column in texts.items()},
    }


def arrays_of_records(records: Records) -> dict[str, npt.NDArray[Any]]:
    """Returns the columns of a table of records that it keeps as arrays."""
    columns = {**records.evidence, **{name: attribute.values for name, attribute in records.attributes.items()}}
    plain = ("ptr", "term", "aspect", "excluded", "low", "high", "numerator", "denominator", "row_ptr", "line")
    return {
        **{name: getattr(records, name) for name in plain},
        "names": records.names.blob_array,
        **{name: column.codes for name, column in columns.items()},
        **{f"{name}_values": column.values.blob_array for name, column in columns.items()},
        **{f"{name}_ptr": attribute.ptr for name, attribute in records.attributes.items()},
    }


def assert_same_ontology(one: Ontology, other: Ontology) -> None:
    """Fails where any part of two ontologies differs."""
    first, second = ontology_to_arrays(one), ontology_to_arrays(other)
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
        assert first[name].dtype == second[name].dtype, name
    for field in ("name", "version", "sha256", "ids", "relation_ids", "relation_names", "retired", "header", "marks"):
        assert getattr(one, field) == getattr(other, field), field
    assert list(one.report) == list(other.report)


def assert_same_records(one: Records, other: Records) -> None:
    """Fails where any part of two tables of records differs."""
    first, second = one.to_arrays(), other.to_arrays()
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
    assert (one.keys, one.term_ids, list(one.attributes)) == (other.keys, other.term_ids, list(other.attributes))
    assert list(one.report) == list(other.report)
    for i in range(0, len(one), max(len(one) // 50, 1)):
        assert one.record_at(i) == other.record_at(i)
