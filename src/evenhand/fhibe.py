"""FHIBE in Python, beside the verbs: `write_outputs` and `encode_mask` are for people who infer elsewhere."""

from evenhand.benchmarks.fhibe import benchmark, encode_mask, write_outputs

__all__ = ["benchmark", "encode_mask", "write_outputs"]
