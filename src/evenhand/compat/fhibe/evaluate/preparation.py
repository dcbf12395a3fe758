"""The annotations of a task as a frame, as the published tool prepares them for its metrics.

`evaluate_task` needs none of this. It is here for scripts that look at the rows: `get_eval_api` opens a table, and
`prepare_evaluation` gives the rows of a task, the images in their order, and what a wrapper's preprocessor is
handed. Frames are pandas frames where pandas is installed, else Polars frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe import attributes, cells, vocabulary
from evenhand.benchmarks.fhibe.data import poses, rows_alone, rows_in_pairs, visible_parts
from evenhand.benchmarks.fhibe.pictures import ENCODINGS
from evenhand.benchmarks.fhibe.scores import row_runs
from evenhand.benchmarks.fhibe.table import MINI_ROWS, Segment, mini_rows, row_keypoints, row_segments
from evenhand.benchmarks.fhibe.wrapped import aligned_arguments, preprocessor_arguments
from evenhand.compat.fhibe.errors import ArgumentValueError, TableMissingError
from evenhand.compat.fhibe.evaluate.arguments import check_keypoints
from evenhand.core.errors import OptionError
from evenhand.geometry.boxes import corners
from evenhand.geometry.masks import Runs
from evenhand.geometry.masks import area as mask_area


@dataclass
class EvaluationTable:
    """A table of FHIBE: its frame, and the names that its rows are grouped by."""

    dataframe: Any
    data_dir: str
    processed_data_dir: str
    intersectional_column_names: Sequence[str]
    age_buckets: bool
    is_aligned: bool

    @property
    def age_map(self) -> dict[int, str]:
        """The age groups, in order."""
        return dict(enumerate(attributes.AGE_BUCKETS))


def get_eval_api(
    dataset_name: str,
    dataset_base: str,
    data_dir: str | Path,
    processed_data_dir: str | Path,
    intersectional_column_names: Sequence[str] | None = None,
    use_age_buckets: bool = True,
    use_mini_dataset: bool = False,
    mini_dataset_size: int | None = 50,
) -> EvaluationTable:
    """The table of a data set, all of it or the published sample of its rows; paths are joined to `data_dir`."""
    path = Path(processed_data_dir) / dataset_name / f"{dataset_name}.csv"
    if not path.is_file():
        raise TableMissingError(f"Combined annotation file not found: {path}.")
    frame = _read_frame(path)
    joined = {name: [str(Path(data_dir) / text) for text in _listed(frame, name)] for name in ("filepath", "json_path")}
    frame = _with_columns(frame, joined)
    if use_mini_dataset:
        try:
            rows = mini_rows(len(frame), mini_dataset_size or MINI_ROWS)
        except OptionError as error:
            raise ArgumentValueError(str(error)) from None
        frame = _taken(frame, rows)
    names = vocabulary.DEFAULT_ATTRIBUTES if intersectional_column_names is None else intersectional_column_names
    aligned = dataset_base == "fhibe_face" and "align" in dataset_name
    return EvaluationTable(frame, str(data_dir), str(processed_data_dir), names, use_age_buckets, aligned)


def prepare_evaluation(
    eval_api: EvaluationTable,
    task_name: str,
    dataset_name: str,
    model: Any,
    model_name: str,
    current_results_dir: str | Path,
    precomputed_masks: Sequence[Any] | None = None,
    cuda: bool = True,
    **task_kwargs: Any,
) -> tuple[Any, list[str], dict[str, Any]]:
    """The rows of a task as a frame, its images, and the task's further arguments.

    `precomputed_masks` are the masks of person parsing, or the areas of keypoint estimation, row by row.
    """
    frame = eval_api.dataframe
    images = _listed(frame, "filepath")
    body = task_name in vocabulary.BODY_TASKS
    custom = task_kwargs.get("custom_keypoints") if task_name == "keypoint_estimation" else None
    names = check_keypoints(custom)
    columns: dict[str, Sequence[Any]] = {}
    boxes: Sequence[Any] = ()
    masks: list[str] = []
    if task_name == "person_localization":
        columns["person_bbox"] = _corners(frame, "person_bbox")
    elif task_name == "face_localization":
        columns["face_bbox"] = _corners(frame, "face_bbox")
        columns["face_area"] = [_area_class(box) for box in columns["face_bbox"]]
    elif task_name == "person_parsing":
        columns["person_mask"] = precomputed_masks or [runs.plain for runs in _masks(frame)]
    elif task_name == "keypoint_estimation":
        boxes = _corners(frame, "person_bbox")
        columns = {"person_bbox": boxes, "face_bbox": _corners(frame, "face_bbox")}
        columns["keypoints_coco_fmt"] = list(poses(_keypoints(frame), names))
        columns["area"] = precomputed_masks or [mask_area(runs) for runs in _masks(frame)]
    elif task_name == "body_parts_detection":
        boxes = [cells.numbers(cell) for cell in _listed(frame, "person_bbox")]
        columns = {"person_bbox": boxes, "visible_body_parts": _visible_parts(frame)}
    elif task_name == "face_parsing":
        masks = [str(Path(eval_api.data_dir) / cells.combined_mask(cell)) for cell in _listed(frame, "CelebA")]
    elif task_name == "face_verification":
        frame, images = _verified(frame)
        root = eval_api.processed_data_dir
        columns["aligned_filepath"] = [image.replace(eval_api.data_dir, root) for image in images]
        more = aligned_arguments(model, model_name, images, columns["aligned_filepath"], Path(root), cuda=cuda)
        more["aligned"] = eval_api.is_aligned
    elif task_name not in ("face_encoding", "face_super_resolution"):
        known = ", ".join((*vocabulary.BODY_TASKS, *vocabulary.FACE_TASKS))
        raise ArgumentValueError(f"Task name: {task_name} is not one of {known}.")
    if task_name != "face_verification":
        people: dict[str, list[Any]] = {image: [] for image in images}
        for image, box in zip(images, boxes, strict=False):
            people[image].append(box)
        encodings = Path(current_results_dir) / ENCODINGS
        aligned = eval_api.is_aligned
        more = preprocessor_arguments(task_name, images, people, masks, encodings, custom, aligned=aligned)
    if task_name == "face_encoding":
        columns["encoded_filepath"] = more["encoded_filepaths"]
    if eval_api.age_buckets:
        columns["age"] = [attributes.age_bucket(float(age)) for age in _listed(frame, "age")]
    columns["location_country"] = [attributes.clean_country(cell) for cell in _listed(frame, "location_country")]
    return _with_columns(frame, columns), list(dict.fromkeys(images)) if body else images, more


def _masks(frame: Any) -> list[Runs]:
    """The mask of each row."""
    columns = (_segments(frame), _listed(frame, "image_height"), _listed(frame, "image_width"))
    return [row_runs(shapes, int(height), int(width)) for shapes, height, width in zip(*columns, strict=True)]


def _segments(frame: Any) -> list[Sequence[Segment]]:
    listed = _listed(frame, "segments")
    return [row_segments(*cells.segments(cell)) if isinstance(cell, str) else () for cell in listed]


def _keypoints(frame: Any) -> list[Mapping[str, tuple[float, float, float]]]:
    return [row_keypoints(*cells.keypoints(cell)) for cell in _listed(frame, "keypoints")]


def _visible_parts(frame: Any) -> list[list[str]]:
    rows = zip(_segments(frame), _keypoints(frame), strict=True)
    return [list(visible_parts([shape.name for shape in shapes], points)) for shapes, points in rows]


def _verified(frame: Any) -> tuple[Any, list[str]]:
    """The rows that can be in a pair, by subject: one subject in the picture, two or more pictures of it."""
    several, subjects = (_texts(frame, column) for column in ("multiple_subjects", "subject_id"))
    frame = _taken(frame, rows_in_pairs(rows_alone(several), subjects), index=False)
    return frame, _listed(frame, "filepath")


def _texts(frame: Any, column: str) -> list[str | None]:
    """The cells of a column as text; None for missing ones, in whatever way the frame writes that."""
    import narwhals as nw

    series = nw.from_native(frame, eager_only=True)[column]
    is_missing = series.is_null() | series.is_nan() if series.dtype.is_float() else series.is_null()
    return [None if lacks else str(cell) for cell, lacks in zip(series.to_list(), is_missing.to_list(), strict=True)]


def _corners(frame: Any, column: str) -> list[list[float]]:
    boxes: list[list[float]] = corners(np.array([cells.numbers(cell) for cell in _listed(frame, column)])).tolist()
    return boxes


def _area_class(box: Sequence[float]) -> str:
    area = (box[2] - box[0]) * (box[3] - box[1])
    return str(int(np.searchsorted((50, 300, 900, 1500), area, side="right")))


def _read_frame(path: Path) -> Any:
    try:
        import pandas as pd
    except ImportError:
        import polars as pl

        return pl.read_csv(path, infer_schema_length=None)
    return pd.read_csv(path)


def _listed(frame: Any, column: str) -> list[Any]:
    values: list[Any] = frame[column].to_list()
    return values


def _taken(frame: Any, rows: Any, *, index: bool = True) -> Any:
    """Some rows, in their order; with `index` their places in the table become a first column."""
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    return nw.maybe_reset_index((table.with_row_index("index") if index else table)[rows]).to_native()


def _with_columns(frame: Any, columns: Mapping[str, Sequence[Any]]) -> Any:
    if hasattr(frame, "assign"):
        return frame.assign(**columns)
    import polars as pl

    return frame.with_columns(
        [
            pl.Series(
                name, [value.tolist() if isinstance(value, np.ndarray) else value for value in values], strict=False
            )
            for name, values in columns.items()
        ]
    )
