"""A calibration as JSON, and back with nothing taken on trust."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ..errors import ArtifactError
from .calibration_parts import METHODS, CalibrationParts, RestsOn
from .conditional_logit import ConditionalLogit
from .cross_fitting import ScaledLogit
from .held_out import HeldOut, Outcomes
from .isotonic import Steps
from .scaling import Scaling

__all__ = ["SCHEMA", "canonical_json", "parts_as_dict", "parts_from_dict"]

FloatArray = npt.NDArray[np.float64]

SCHEMA = "sma-gpu/calibration/1"
_NAME, _, _NUMBER = SCHEMA.rpartition("/")
_FIELDS = (
    "schema", "fingerprint", "method", "queries", "groups", "folds", "seed", "rests_on", "right", "steps", "new",
    "held_out", "figures",
)  # fmt: skip
_SCALING = ("mean", "deviation", "least", "greatest")


def canonical_json(found: Mapping[str, Any]) -> str:
    """Returns the one JSON text of ``found``, ASCII; numbers are written so that they come back exactly."""
    return json.dumps(found, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parts_as_dict(calibration: CalibrationParts) -> dict[str, Any]:
    """Returns everything but schema and fingerprint."""
    steps, new, held_out = calibration.steps, calibration.new, calibration.held_out
    seen = *calibration.hit_names, *calibration.query_names
    return {
        "method": calibration.method,
        "queries": calibration.queries,
        "groups": calibration.groups,
        "folds": calibration.folds,
        "seed": calibration.seed,
        "rests_on": asdict(calibration.rests_on),
        "right": _logit_as_dict(calibration.right, calibration.hit_names, calibration.query_names),
        "steps": None if steps is None else {"starts": steps.starts.tolist(), "values": steps.values.tolist()},
        "new": None if new is None else {**_logit_as_dict(new, seen, ()), "threshold": calibration.novelty_threshold},
        "held_out": {
            "first": {**_outcomes_as_dict(held_out.first), "weights": held_out.weights.tolist()},
            "first_five": _outcomes_as_dict(held_out.first_five),
            "explained": {"aurc": held_out.explained_aurc, "auroc": held_out.explained_auroc},
            "novelty": None
            if held_out.novelty is None
            else {**_outcomes_as_dict(held_out.novelty), "f1": held_out.novelty_f1},
        },
        "figures": _without_nan(held_out.figures()),
    }


def parts_from_dict(found: object) -> CalibrationParts:
    """Returns the fields of a calibration from its JSON form.

    Raises:
        ArtifactError: it is damaged, of a newer release, or no calibration.
    """
    whole = _Reader(found, "the file")
    schema = found.get("schema") if isinstance(found, Mapping) else None
    if not isinstance(schema, str) or schema.rpartition("/")[0] != _NAME:
        _refuse("it is no calibration", "Give a file that sma-gpu calibrate wrote.")
    if schema != SCHEMA:
        number = schema.rpartition("/")[2]
        newer = number.isascii() and number.isdigit() and int(number) > int(_NUMBER)
        _refuse(
            f"its form is {schema}, and this release reads {SCHEMA}",
            "Install a newer release of sma_gpu." if newer else "Calibrate again.",
        )
    whole.has(*_FIELDS)
    content = {name: value for name, value in whole.values.items() if name != "fingerprint"}
    try:
        sum_of_it = hashlib.sha256(canonical_json(content).encode()).hexdigest()
    except (TypeError, ValueError):
        sum_of_it = ""
    if sum_of_it != whole.values["fingerprint"]:
        _refuse("it does not match its fingerprint: it was damaged or edited", "Calibrate again.")
    right, hit_names, query_names = _logit(whole.part("right"))
    new, threshold = None, None
    if whole.values["new"] is not None:
        new, seen, none = _logit(whole.part("new"), "threshold")
        threshold = whole.part("new").number("threshold")
        if (seen, none) != ((*hit_names, *query_names), ()):
            _refuse("its two models take different signals", "Calibrate again.")
    method, steps = whole.text("method"), whole.values["steps"]
    if method not in METHODS or (steps is None) != (method == "logistic"):
        _refuse(f"it knows no way to follow the method {method!r}", "Calibrate again.")
    return CalibrationParts(
        method=method,
        hit_names=hit_names,
        query_names=query_names,
        queries=whole.count("queries"),
        groups=whole.count("groups"),
        folds=whole.count("folds"),
        seed=whole.count("seed"),
        right=right,
        steps=None if steps is None else _steps(whole.part("steps")),
        new=new,
        novelty_threshold=threshold,
        held_out=_held_out(whole.part("held_out"), with_novelty=new is not None),
        rests_on=_rests_on(whole.part("rests_on")),
    )


def _logit_as_dict(logit: ScaledLogit, names: tuple[str, ...], none_names: tuple[str, ...]) -> dict[str, Any]:
    """Returns a model, each weight beside its signal."""
    return {
        "ridge": logit.ridge,
        "none_bias": logit.model.none_bias,
        "signals": _weights(names, logit.model.weights, logit.of_alternatives),
        "none_signals": _weights(none_names, logit.model.none_weights, logit.of_queries),
    }


def _weights(names: tuple[str, ...], weights: FloatArray, scaling: Scaling) -> list[dict[str, Any]]:
    columns = [weights.tolist(), *(getattr(scaling, name).tolist() for name in _SCALING)]
    rows = zip(names, *columns, strict=True)
    return [dict(zip(("name", "weight", *_SCALING), row, strict=True)) for row in rows]


def _outcomes_as_dict(outcomes: Outcomes) -> dict[str, Any]:
    return {"predicted": outcomes.predicted.tolist(), "true": outcomes.true.tolist()}


def _without_nan(figures: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float | None]]:
    return {
        part: {name: None if math.isnan(value) else value for name, value in of_part.items()}
        for part, of_part in figures.items()
    }


def _logit(part: _Reader, *more: str) -> tuple[ScaledLogit, tuple[str, ...], tuple[str, ...]]:
    part.has("ridge", "none_bias", "signals", "none_signals", *more)
    weights, scaling, names = _weighted_signals(part, "signals")
    none_weights, none_scaling, none_names = _weighted_signals(part, "none_signals")
    model = ConditionalLogit(weights, none_weights, part.number("none_bias"))
    return ScaledLogit(scaling, none_scaling, model, part.number("ridge")), names, none_names


def _weighted_signals(part: _Reader, name: str) -> tuple[FloatArray, Scaling, tuple[str, ...]]:
    rows = [_Reader(row, f"a signal of {part.where}") for row in part.rows(name)]
    for row in rows:
        row.has("name", "weight", *_SCALING)
    columns = {field: np.array([row.number(field) for row in rows], np.float64) for field in ("weight", *_SCALING)}
    if not (columns["deviation"] > 0).all():
        part.fail("a deviation is not above 0")
    scaling = Scaling(*(columns[field] for field in _SCALING))
    return columns["weight"], scaling, tuple(row.text("name") for row in rows)


def _steps(part: _Reader) -> Steps:
    part.has("starts", "values")
    starts, values = part.numbers("starts"), part.numbers("values")
    rising = len(starts) and len(starts) == len(values) and (np.diff(starts) > 0).all() and (np.diff(values) >= 0).all()
    if not rising or not _shares(values):
        part.fail("the steps do not rise from 0 to 1")
    return Steps(starts, values)


def _held_out(part: _Reader, *, with_novelty: bool) -> HeldOut:
    part.has("first", "first_five", "explained", "novelty")
    explained = part.part("explained")
    explained.has("aurc", "auroc")
    if (part.values["novelty"] is not None) != with_novelty:
        part.fail("novelty has outcomes without a model, or a model without outcomes")
    first, weights = _outcomes(part.part("first"), "weights"), part.part("first").numbers("weights")
    if len(weights) != len(first) or not ((weights > 0) & (weights <= 1)).all():
        part.fail("the weights do not belong to the first hits")
    return HeldOut(
        first,
        weights,
        _outcomes(part.part("first_five")),
        explained.number("aurc"),
        explained.number("auroc"),
        _outcomes(part.part("novelty"), "f1") if with_novelty else None,
        part.part("novelty").number("f1") if with_novelty else None,
    )


def _outcomes(part: _Reader, *more: str) -> Outcomes:
    part.has("predicted", "true", *more)
    predicted, true = part.numbers("predicted"), part.rows("true")
    if len(true) != len(predicted) or not all(isinstance(one, bool) for one in true) or not _shares(predicted):
        part.fail("the outcomes do not belong to the predictions")
    return Outcomes(predicted, np.array(true, np.bool_))


def _rests_on(part: _Reader) -> RestsOn:
    part.has(*(field.name for field in fields(RestsOn)))
    generalisations = part.values["generalisations"]
    if not isinstance(generalisations, bool):
        part.fail("generalisations is neither true nor false")
    return RestsOn(
        **{name: part.text(name) for name in ("index", "dials", "ontology", "records", "split")},
        stability_runs=part.count("stability_runs"),
        stability_seed=part.count("stability_seed"),
        generalisations=generalisations,
    )


def _shares(values: FloatArray) -> bool:
    return bool(((values >= 0) & (values <= 1)).all())


class _Reader:
    """One object of the file, whose fields are asked for by kind."""

    def __init__(self, values: object, where: str) -> None:
        self.where = where
        self.values: dict[str, Any] = dict(values) if isinstance(values, Mapping) else {}

    def has(self, *names: str) -> None:
        """Refuses an object with other fields than these."""
        if odd := sorted({*names} ^ {*self.values}, key=str):
            self.fail(f"the field {odd[0]} is {'missing' if odd[0] in names else 'unknown'}")

    def part(self, name: str) -> _Reader:
        """Returns an object inside this one."""
        return _Reader(self.values[name], name)

    def text(self, name: str) -> str:
        """Returns a text."""
        value = self.values[name]
        return value if isinstance(value, str) else self.fail(f"{name} is no text")

    def count(self, name: str) -> int:
        """Returns a whole number of 0 or more."""
        value = self.values[name]
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        return int(value) if whole else self.fail(f"{name} is no whole number")

    def number(self, name: str) -> float:
        """Returns a finite number."""
        value = self.values[name]
        return float(value) if _is_number(value) else self.fail(f"{name} is no number")

    def numbers(self, name: str) -> FloatArray:
        """Returns a list of finite numbers."""
        found = self.rows(name)
        if not all(_is_number(value) for value in found):
            self.fail(f"{name} holds something else than numbers")
        return np.array(found, np.float64)

    def rows(self, name: str) -> list[Any]:
        """Returns a list."""
        value = self.values[name]
        return value if isinstance(value, list) else self.fail(f"{name} is no list")

    def fail(self, found: str) -> NoReturn:
        """Refuses the file."""
        _refuse(f"in {self.where}, {found}", "Calibrate again.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _refuse(found: str, do: str) -> NoReturn:
    raise ArtifactError("read a calibration", found, do)
