"""The watchlist challenge's four commands, with its configuration file and options."""

from __future__ import annotations

from evenhand.compat.uccs.command import command

__all__ = ["command"]
