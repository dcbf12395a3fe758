"""Helpers that wrapped models use: pictures, loaders, JSON files, folders."""

from evenhand.compat.fhibe.common.data import ImageDataset, identity_function, pil_image_collate_function
from evenhand.compat.fhibe.common.loaders import image_data_loader_from_paths
from evenhand.compat.fhibe.common.utils import (
    check_list_lengths,
    create_folders,
    get_project_root,
    open_image_with_pil,
    read_json_file,
    save_json_file,
)

__all__ = [
    "ImageDataset",
    "check_list_lengths",
    "create_folders",
    "get_project_root",
    "identity_function",
    "image_data_loader_from_paths",
    "open_image_with_pil",
    "pil_image_collate_function",
    "read_json_file",
    "save_json_file",
]
