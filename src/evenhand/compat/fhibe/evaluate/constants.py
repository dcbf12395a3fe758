"""Names and lists of the published evaluation that scripts import."""

from __future__ import annotations

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.output_file import OUTPUTS
from evenhand.benchmarks.fhibe.table import MINI_SEED
from evenhand.compat.fhibe.evaluate.arguments import DATASETS

TASK_DICT = {"fhibe": list(vocabulary.BODY_TASKS), "fhibe_face": list(vocabulary.FACE_TASKS)}
VALID_DATASET_NAMES = list(DATASETS)
FHIBE_ATTRIBUTE_LIST = list(vocabulary.attributes_of(vocabulary.BODY_TASKS[0]))
FHIBE_FACE_ATTRIBUTE_LIST = list(vocabulary.attributes_of(vocabulary.FACE_TASKS[0]))
MODEL_OUTPUT_FILENAME = OUTPUTS
DEFAULT_RANDOM_STATE = MINI_SEED
