"""FairFace in Python, beside the verbs: `read` shows what an answer gives, with the rules that decided."""

from evenhand.benchmarks.fairface import benchmark, read

__all__ = ["benchmark", "read"]
