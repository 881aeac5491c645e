"""Which calibration answers are under: the one that was named, the one saved with the index, or none."""

from __future__ import annotations

from pathlib import Path

from ..errors import ArtifactError, CalibrationError, DataMissing, FingerprintMismatch
from ..retrieval import Index
from ..trust.asking import FurtherSignals, SignalSource
from ..trust.calibration import Calibration
from .calibrated import NEVER, Calibrated
from .own_index import own_calibration

__all__ = ["NONE", "find_calibrated", "read_calibration"]

AUTO_CALIBRATION, NONE = "auto", "none"


def find_calibrated(
    asked: str | Path | Calibration,
    abstain: str,
    index: Index,
    folder: Path | None = None,
    *,
    ranked: str = "",
) -> tuple[Calibrated | None, list[str]]:
    """Returns the calibration to use, None for none, and remarks for the answers.

    Args:
        asked: a calibration, the file of one, ``auto`` for the one saved with the index, if it fits, or ``none``.
        abstain: ``youden``, ``risk=LEVEL``, ``conformal=LEVEL``, or ``none``.
        index: what is asked.
        folder: that of an index of one's own, or None.
        ranked: what is ranked where it is not records, such as ``genes``: a calibration says nothing of that.

    Raises:
        FingerprintMismatch: it was made for another index or under other dials.
        CalibrationError: there is none to abstain by, records are not what is ranked, or it takes signals that this
            release cannot take.
        DataMissing: there is no such file.
        ArtifactError: the file is no calibration, or damaged.
        QueryError: there is no such rule to abstain by.
    """
    found, notes = _found(asked, index, folder, ranked)
    if found is None:
        if abstain != NEVER:
            have = notes[0] if notes else "there is no calibration"
            do = "Make one with sma-gpu calibrate and name it with --calibration, or leave --abstain out."
            raise CalibrationError(f"abstain by {abstain}", have, do)
        return None, notes
    source = SignalSource(index, FurtherSignals.of(found))
    return Calibrated(found, source, None if abstain == NEVER else found.threshold(abstain)), notes


def _found(
    asked: str | Path | Calibration, index: Index, folder: Path | None, ranked: str
) -> tuple[Calibration | None, list[str]]:
    if asked == NONE:
        return None, []
    if asked == AUTO_CALIBRATION:
        told = None if folder is None else own_calibration(str(folder))
        if told is None:
            return None, []
        saved = Calibration.from_dict(told)
        if ranked:
            return None, [f"the calibration of this index is for records, not for {ranked}: it is not used"]
        try:
            _check(saved, index)
        except FingerprintMismatch as mismatch:
            return None, [f"the calibration of this index is not used: {mismatch.found}"]
        return saved, []
    found = asked if isinstance(asked, Calibration) else read_calibration(Path(asked))
    if ranked:
        do = f"Rank records, or leave the calibration out with --calibration {NONE}."
        raise CalibrationError(f"rank {ranked} under a calibration", "it was made for records", do)
    _check(found, index)
    return found, []


def _check(calibration: Calibration, index: Index) -> None:
    """Refuses an index that the calibration was not made for; dials first, since they change the index too."""
    calibration.check_made_for(dials=index.dials.fingerprint)
    calibration.check_made_for(index=index.fingerprint)


def read_calibration(path: Path) -> Calibration:
    """Returns the calibration in a file that ``sma-gpu calibrate`` wrote.

    Raises:
        DataMissing: there is no such file.
        ArtifactError: it is no calibration, or damaged.
    """
    do = "Give a file that sma-gpu calibrate wrote, auto or none."
    try:
        text = path.read_text(encoding="utf-8-sig")  # an editor may have put a mark before it
    except UnicodeDecodeError as fault:
        raise ArtifactError(f"read the calibration {path}", "it is no text", do) from fault
    except OSError as fault:
        raise DataMissing(f"the calibration {path}", f"it cannot be read ({fault.strerror})", do) from fault
    try:
        return Calibration.from_json(text)
    except ArtifactError as error:
        raise ArtifactError(f"read the calibration {path}", error.found, error.do) from error
