"""The lists are read by the laws, not collected as tests."""

collect_ignore_glob = ["listed*.py", "laws.py"]
