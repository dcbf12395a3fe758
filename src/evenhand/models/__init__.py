"""Providers of models: chat endpoints, DeepFace."""
