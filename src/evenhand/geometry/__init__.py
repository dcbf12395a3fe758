"""Boxes, masks, keypoints and assignments: arrays in, arrays out."""
