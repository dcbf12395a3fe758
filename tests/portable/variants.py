"""Run tests as if on other machines: other vector extensions, other BLAS kernels, another locale and time zone.

python tests/portable/variants.py                         every variant that this processor can run
python tests/portable/variants.py --list                  their names
python tests/portable/variants.py v2 nehalem -- tests/golden
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

TESTS = ("tests/golden", "tests/laws", "tests/engines")
PARALLEL = ("-n", "2", "--dist", "worksteal")
KERNELS = {"nehalem": ("sse4_2",), "haswell": ("avx2", "fma"), "zen": ("avx2", "fma"), "skylakex": ("avx512f",)}
OPENBLAS = {"nehalem": "Nehalem", "haswell": "Haswell", "zen": "Zen", "skylakex": "SkylakeX"}


@dataclass(frozen=True)
class Variant:
    """One other machine: the environment of its processes, and the umask."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    umask: int = 0o022


def numpy_extensions() -> list[str]:
    """The vector extensions beyond its baseline that NumPy uses on this processor, weakest first."""
    import numpy as np

    return list(np.show_config("dicts")["SIMD Extensions"].get("found", []))  # type: ignore[index,call-overload]


def of_processor(entry: str) -> str:
    """What Linux says about the processor, "" elsewhere; entries are "model name", "flags" and others."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(entry)), "")


def variants() -> list[Variant]:
    """Every variant that can be run here; `all` is this machine as it is."""
    found, flags = numpy_extensions(), set(of_processor("flags").split())
    listed = [Variant("all")]
    if found:
        listed.append(Variant("v2", {"NPY_DISABLE_CPU_FEATURES": " ".join(found)}))
    beyond_v3 = [name for name in found if name not in ("AVX2", "FMA3", "AVX", "F16C", "X86_V3")]
    if beyond_v3 and len(beyond_v3) < len(found):
        listed.append(Variant("v3", {"NPY_DISABLE_CPU_FEATURES": " ".join(beyond_v3)}))
    listed += [
        Variant(name, {"OPENBLAS_CORETYPE": OPENBLAS[name]})
        for name, needed in KERNELS.items()
        if flags.issuperset(needed)
    ]
    listed += [Variant(f"threads-{count}", {"OPENBLAS_NUM_THREADS": str(count)}) for count in (1, 2)]
    listed.append(
        Variant(
            "elsewhere",
            {"LC_ALL": "C", "LANG": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "4711"},
            umask=0o077,
        )
    )
    return listed


def environment(variant: Variant) -> dict[str, str]:
    return {**os.environ, **variant.environment}


def run(variant: Variant, tests: Sequence[str]) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow and not ray and not browser", *PARALLEL, *tests]
    return subprocess.run(command, env=environment(variant), umask=variant.umask, check=False).returncode


def main(arguments: Sequence[str]) -> int:
    names, _, tests = " ".join(arguments).partition("--") if "--" in arguments else (" ".join(arguments), "", "")
    known = {variant.name: variant for variant in variants()}
    if names.split() == ["--list"]:
        print("\n".join(known))
        return 0
    missing = [name for name in names.split() if name not in known]
    for name in missing:
        print(f"variant {name}: not possible on this processor, left out")
    chosen = [known[name] for name in names.split() if name in known] or ([] if names else list(known.values()))
    failed = []
    processor = of_processor("model name") or platform.processor() or platform.machine()
    print(f"processor: {processor}; NumPy uses {' '.join(numpy_extensions())}")
    for variant in chosen:
        settings = " ".join(f"{key}={value!r}" for key, value in variant.environment.items()) or "as it is"
        print(f"variant {variant.name}: {settings}, umask {variant.umask:03o}", flush=True)
        started = time.monotonic()
        if run(variant, tests.split() or TESTS):
            failed.append(variant.name)
        print(f"variant {variant.name}: {time.monotonic() - started:.0f} s", flush=True)
    print(f"failed: {', '.join(failed)}" if failed else f"{len(chosen)} variants passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
