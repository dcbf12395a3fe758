"""fairlearn's `MetricFrame` over evenhand: the same values, with intervals and verdicts beside them.

```python
from evenhand.compat.fairlearn import MetricFrame

frame = MetricFrame(metrics=accuracy_score, y_true=y, y_pred=p, sensitive_features=df["sex"])
frame.by_group, frame.difference(), frame.intervals, frame.verdicts
```

With pandas installed, results are pandas series and frames as fairlearn's are; without it they are dictionaries by
group. Functions must return a number.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np

from evenhand.api import evaluate_table
from evenhand.benchmarks.table.frame import from_frame, unlike_indexes
from evenhand.core.errors import OptionError
from evenhand.core.metric import Undefined
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Estimate, Results
from evenhand.metrics.custom import FunctionMetric

Function = Callable[..., float]
Terms = tuple[tuple[str, str], ...]  # a group: feature and level
Compared = Literal["between_groups", "to_overall"]
_TRUTH, _PREDICTION = "true_value", "predicted_value"
_ONE = "metric"


class MetricFrame:
    """Values of one or several metrics for every group of sensitive features, and how far apart they are.

    The arguments are fairlearn's. `unit` names, row by row, what was sampled independently (the subject); `settings`
    are those of `evenhand.Settings`, such as `costly_draws=500` resamples or `confidence=0.9`.
    """

    def __init__(
        self,
        *,
        metrics: Function | Mapping[str, Function],
        y_true: Any,
        y_pred: Any,
        sensitive_features: Any,
        control_features: Any = None,
        sample_params: Mapping[str, Any] | None = None,
        n_boot: int | None = None,
        ci_quantiles: Sequence[float] | None = None,
        random_state: int | None = None,
        unit: Any = None,
        **settings: Any,
    ) -> None:
        self._single = not isinstance(metrics, Mapping)
        functions: Mapping[str, Function] = {_ONE: metrics} if callable(metrics) else metrics
        self._sensitive = _features(sensitive_features, "sensitive_feature_")
        self._control = {} if control_features is None else _features(control_features, "control_feature_")
        repeated = set(self._sensitive) & set(self._control)
        if repeated:
            raise OptionError(f"A feature is both sensitive and control: {', '.join(sorted(repeated))}.")
        self._all = {**self._control, **self._sensitive}
        features = {
            **_leaves("sensitive_features", sensitive_features),
            **_leaves("control_features", control_features),
        }
        if difference := unlike_indexes({"y_true": y_true, "y_pred": y_pred, **features, "unit": unit}):
            warnings.warn(
                f"{difference}. Rows are taken by their position, as in fairlearn: are they in the same order?",
                stacklevel=2,
            )
        self._table: dict[str, Any] = {"y_true": np.asarray(y_true), "y_pred": np.asarray(y_pred)}
        self._table |= {f"feature {name}": values for name, values in self._all.items()}
        self._metrics = []
        for name, function in functions.items():
            given = (sample_params or {}) if self._single else (sample_params or {}).get(name, {})
            arguments = []
            for keyword, values in given.items():
                if values is not None:
                    self._table[f"{name} {keyword}"] = np.asarray(values, dtype=np.float64)
                    arguments.append((keyword, f"{name} {keyword}"))
            self._metrics.append(FunctionMetric(name, function, _TRUTH, _PREDICTION, arguments=tuple(arguments)))
        if unit is not None:
            self._table["unit"] = np.asarray(unit)
        self._settings = dict(settings)
        if n_boot is not None:
            self._settings["costly_draws"] = n_boot
        if ci_quantiles:
            self._settings["confidence"] = max(ci_quantiles) - min(ci_quantiles)
        if random_state is not None:
            self._settings["seed"] = random_state
        self._plain = self._evaluated(draws=0, permutations=0)
        self._estimates = _by_group(self._plain)

    def _evaluated(self, **settings: Any) -> Results:
        names = [f"feature {name}" for name in self._all]
        return evaluate_table(
            self._table,
            truth="y_true",
            prediction="y_pred",
            by=names,
            unit="unit" if "unit" in self._table else None,
            kind="functions",
            metrics=self._metrics,
            depth=len(names),
            rows="none",
            options={"most_levels": 10_000},
            **{**self._settings, **settings},
        ).results

    @cached_property
    def _resampled(self) -> Results:
        """The same with intervals; functions are called again for every group and resample, so only when asked for."""
        return self._evaluated()

    @property
    def sensitive_levels(self) -> list[str]:
        """The names of the sensitive features."""
        return list(self._sensitive)

    @property
    def control_levels(self) -> list[str] | None:
        """The names of the control features; None without any."""
        return list(self._control) or None

    @property
    def overall(self) -> Any:
        """The value of everyone; with control features, of every combination of their levels."""
        return self._by_control(self._value)

    @property
    def by_group(self) -> Any:
        """The value of every group: a series of one metric, a frame of several."""
        return self._shown(list(self._all), self._value)

    def group_min(self, errors: str = "raise") -> Any:
        """The smallest value over the groups."""
        return self._aggregated(lambda values, overall: min(values))

    def group_max(self, errors: str = "raise") -> Any:
        """The largest value over the groups."""
        return self._aggregated(lambda values, overall: max(values))

    def difference(self, method: Compared = "between_groups", errors: str = "coerce") -> Any:
        """Largest minus smallest value, or the largest distance from the overall value."""
        if _checked(method) == "between_groups":
            return self._aggregated(lambda values, overall: max(values) - min(values))
        return self._aggregated(lambda values, overall: max(abs(value - overall) for value in values))

    def ratio(self, method: Compared = "between_groups", errors: str = "coerce") -> Any:
        """Smallest over largest value, or the smallest ratio to the overall value, folded to at most 1."""
        if _checked(method) == "between_groups":
            return self._aggregated(lambda values, overall: _divided(min(values), max(values)))
        return self._aggregated(lambda values, overall: min(_folded_ratio(value, overall) for value in values))

    @property
    def intervals(self) -> Any:
        """Lower and upper limits of every group's value, by resampling units."""
        estimates = _by_group(self._resampled)
        rows = {}
        for key in self._keys(list(self._all)):
            row: dict[str, Any] = {}
            for metric in self._metrics:
                estimate = estimates.get((metric.name, Group(key)))
                prefix = "" if self._single else f"{metric.name} "
                row[f"{prefix}low"] = estimate.low if estimate else None
                row[f"{prefix}high"] = estimate.high if estimate else None
            rows[self._names_of(key)] = row
        return _labelled("DataFrame", rows, list(self._all))

    @property
    def verdicts(self) -> Any:
        """Every pair of groups: difference, limits, adjusted p-value and verdict."""
        rows = []
        for pair in self._resampled.contrasts:
            if len(pair.first.terms) == len(self._all):
                first, second = (self._names_of(group.terms) for group in (pair.first, pair.second))
                rows.append(
                    {
                        "metric": pair.metric,
                        "first": first,
                        "second": second,
                        "difference": pair.difference,
                        "low": pair.low,
                        "high": pair.high,
                        "p": pair.adjusted,
                        "verdict": pair.verdict.value if pair.verdict else None,
                    }
                )
        pandas = _pandas()
        return rows if pandas is None else pandas.DataFrame(rows)

    def _aggregated(self, reduce: Callable[[list[float], float], float]) -> Any:
        """The values of groups in one number."""

        def of(name: str, control: Terms) -> float:
            keys = [key for key in self._keys(list(self._all)) if set(control) <= set(key)]
            values = [value for key in keys if not math.isnan(value := self._value(name, key))]
            return reduce(values, self._value(name, control)) if values else math.nan

        return self._by_control(of)

    def _by_control(self, value: Callable[[str, Terms], float]) -> Any:
        """A number per metric, or per metric and combination of control levels."""
        if self._control:
            return self._shown(list(self._control), value)
        values = {metric.name: value(metric.name, ()) for metric in self._metrics}
        return values[_ONE] if self._single else _labelled("Series", values, [])

    def _shown(self, features: list[str], value: Callable[[str, Terms], float]) -> Any:
        keys = self._keys(features)
        rows = {self._names_of(key): {metric.name: value(metric.name, key) for metric in self._metrics} for key in keys}
        if self._single:
            title = getattr(self._metrics[0].function, "__name__", "metric")
            return _labelled("Series", {name: row[_ONE] for name, row in rows.items()}, features, name=title)
        return _labelled("DataFrame", rows, features)

    def _keys(self, features: list[str]) -> list[Terms]:
        levels = [self._plain.levels[f"feature {name}"] for name in features]
        return [tuple((f"feature {n}", lv) for n, lv in zip(features, some, strict=True)) for some in product(*levels)]

    def _names_of(self, key: Terms) -> Any:
        """The group as fairlearn names it: the values themselves, a tuple for several features."""
        values = tuple(self._originals[name][level] for name, level in key)
        return values[0] if len(values) == 1 else values

    @cached_property
    def _originals(self) -> dict[str, dict[str, Any]]:
        columns = {}
        for name, values in self._all.items():
            coded = from_frame({name: values}).labels(name, "feature")
            _, first = np.unique(coded.codes, return_index=True)
            firsts = [values[place] for place in first if coded.codes[place] >= 0]
            own = [
                value.item() if isinstance(value, np.generic) and values.dtype.kind != "M" else value
                for value in firsts
            ]
            codes = [int(coded.codes[place]) for place in first if coded.codes[place] >= 0]
            columns[f"feature {name}"] = {coded.levels[code]: value for code, value in zip(codes, own, strict=True)}
        return columns

    def _value(self, name: str, key: Terms) -> float:
        estimate = self._estimates.get((name, Group(key) if key else EVERYONE))
        return math.nan if estimate is None or isinstance(estimate.value, Undefined) else float(estimate.number or 0.0)


def _by_group(results: Results) -> dict[tuple[str, Group], Estimate]:
    return {(estimate.metric, estimate.group): estimate for estimate in results.estimates}


def _features(given: Any, prefix: str) -> dict[str, Any]:
    """Features by name, from a series, a frame, a mapping, a list or an array with a column for each."""
    if isinstance(given, Mapping):
        return {str(name): np.asarray(values) for name, values in given.items()}
    if hasattr(given, "columns"):
        return {str(name): np.asarray(given[name]) for name in given.columns}
    name = getattr(given, "name", None)
    array = np.asarray(given)
    if array.ndim == 2:
        return {f"{prefix}{place}": column for place, column in enumerate(array.T)}
    return {f"{prefix}0" if name is None else str(name): array}


def _leaves(name: str, given: Any) -> dict[str, Any]:
    """Features as they were given, each series of a mapping by itself."""
    return {f"{name} {key}": values for key, values in given.items()} if isinstance(given, Mapping) else {name: given}


def _checked(method: str) -> str:
    if method not in ("between_groups", "to_overall"):
        raise OptionError(f"method={method!r}: expected 'between_groups' or 'to_overall'.")
    return method


def _divided(top: float, bottom: float) -> float:
    return top / bottom if bottom else math.nan


def _folded_ratio(value: float, overall: float) -> float:
    ratio = _divided(value, overall)
    return 1 / ratio if ratio > 1 else ratio


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        return None
    return pandas


def _labelled(kind: Literal["Series", "DataFrame"], rows: Mapping[Any, Any], features: list[str], **more: Any) -> Any:
    """A series or a frame of pandas with a row for every group; without pandas, the rows themselves."""
    pandas = _pandas()
    if pandas is None:
        return rows
    keys = list(rows)
    if len(features) > 1:
        index = pandas.MultiIndex.from_tuples(keys, names=features)
    else:
        index = pandas.Index(keys, name=features[0] if features else None)
    return getattr(pandas, kind)(list(rows.values()), index=index, **more)
