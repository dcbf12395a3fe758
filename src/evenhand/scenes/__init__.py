"""Procedural people and pictures with known truth, for demonstrations and tests.

Nobody is shown: figures are drawn from circles, capsules and polygons, so boxes, masks, keypoints,
parts and label maps are known exactly, and everything follows from names by `core.streams`.
"""
