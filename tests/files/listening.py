"""The addresses on which processes listen that have a text in their environment."""

import os
from contextlib import suppress
from pathlib import Path


def addresses(text: str) -> set[str]:
    inodes = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if text.encode() in (process / "environ").read_bytes() or int(process.name) == os.getpid():
                links = [str(handle.readlink()) for handle in (process / "fd").iterdir()]
                inodes.update(link[8:-1] for link in links if link.startswith("socket:["))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == "0A" and inode in inodes:
                host = local.partition(":")[0][-8:]
                found.add(".".join(str(byte) for byte in bytes.fromhex(host)[::-1]))
    return found
