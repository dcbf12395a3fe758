"""How reports write the values of metrics that several families share."""

from __future__ import annotations

VERIFICATION_VALUES = (  # patterns of `metric: output`
    (r"[\w-]+: TAR@FAR=(\S+)", r"TAR at FAR \1"),
    (r"[\w-]+: FMR@overall FAR=(\S+)", r"FMR at the threshold of overall FAR \1"),
    (r"[\w-]+: FNMR@overall FAR=(\S+)", r"FNMR at the threshold of overall FAR \1"),
    (r"(?:ranking|separation): (AUC|EER|ROC|DET)", r"\1"),
)
