"""`tree` is read by the tests, not collected as one."""

collect_ignore_glob = ["tree.py"]
