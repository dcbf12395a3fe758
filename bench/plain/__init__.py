"""The work of a hot path as scripts usually do it: pandas, scikit-learn, NumPy and loops over groups, pairs and draws.

These are peers for paths that no package covers. They are written from scratch, in the plainest way that a
researcher would, and they do not compute more than what is said beside them. Where one would take hours, it is given
a share of the work (`Hot.peer_share`), and its time is scaled up.
"""
