"""A query and one stored case of a corpus with structure, paired up."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..cases.structure import CaseItems
from ..ops.structure import PairedUp
from ..ops.structure import pair_up as _pair_up
from ..scoring import PairTable
from .corpus import Corpus

__all__ = ["pair_up"]

LongArray = npt.NDArray[np.int64]


def pair_up(corpus: Corpus, table: PairTable, rows: LongArray, query: CaseItems, case: int) -> PairedUp:
    """Returns the hypotheses of a query and the stored case number ``case``.

    Args:
        corpus: stored cases with structure.
        table: values of pairs.
        rows: int64, row of the table of each statement of the query.
        query: items of the query.
        case: number of the case.
    """
    kinds = corpus.kinds_in(case)
    return _pair_up(table, rows, query, kinds, corpus.cases.items(case))
