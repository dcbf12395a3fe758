"""How reports write FairFace's keys."""

from __future__ import annotations

from evenhand.core.names import DisplayNames

NAMES = DisplayNames(
    attributes={"gender": "gender", "race": "race", "age": "age"},
    levels={
        "race": {
            "Latino_Hispanic": "Latino/Hispanic",
            "Middle_Eastern": "Middle Eastern",
            "Middle Eastern": "Middle Eastern",
        },
    },
    values=(
        ("bin_overlap_accuracy_inclusive: accuracy", "Accuracy (age range overlaps)"),
        ("bin_overlap_accuracy_touch_excluded: accuracy", "Accuracy (age range overlaps, touching excluded)"),
        ("single_bin: accuracy", "Accuracy (one age group named)"),
        ("(gender|race|age): accuracy", "Accuracy"),
        ("(gender|race|age): macro_f1", "Macro F1"),
        ("(gender|race|age): macro_f1_present_classes", "Macro F1 over the classes that occur"),
        ("(gender|race|age): balanced_accuracy", "Balanced accuracy"),
        ("(gender|race|age): accuracy_answered_only", "Accuracy among usable answers"),
        ("(gender|race|age|single_bin): unknown_rate", "Unusable answers"),
        ("(gender|race|age|single_bin): confusion", "Confusion matrix"),
        ("refusals: rate", "Refusals"),
        ("unknown: rate", "Unknown answers"),
        ("within_one_bin: rate", "Within one age group"),
        ("bin_distance: mean", "Age groups off, on average"),
        ("bins_covered: mean", "Age groups named, on average"),
        ("open_ended: rate", "Open-ended answers"),
    ),
    tasks={
        "fairface/gender": "FairFace: gender classification",
        "fairface/race": "FairFace: race classification",
        "fairface/age": "FairFace: age classification",
    },
    items="faces",
    sentence="{group} faces are classified correctly {value} of the time",
)
