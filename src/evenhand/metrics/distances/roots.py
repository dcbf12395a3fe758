"""tr √(C₁C₂) of two covariances, without ever forming a matrix root.

C₁C₂ has the eigenvalues of UC₂Uᵀ, a symmetric matrix, with UᵀU = C₁: Cholesky, a reduction, and eigenvalues alone. All
of it works on one triangle, and is an order of magnitude cheaper than a matrix root.

Its weak side is small eigenvalues. They come with an error that is the same for all of them (rounding, at the size of
the largest), and a root multiplies it by 1/(2√λ). So the error of the sum is known beforehand, and where it would show
in a distance (dead channels, repeated frames, hardly more frames than dimensions) there is no answer here; the singular
values of a product of factors, which are roots already, lose nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evenhand.core.optional import linalg
from evenhand.metrics.distances.frames import Floats

_ALLOWED = 1e-10  # error of the root, as share of both traces; what a distance promises is 1e-9
_STEPS = 8  # of the power method
_LARGE = 256  # rows and columns from which on eigenvalues are quicker than singular values
_EPSILON = float(np.finfo(np.float64).eps)


def upper_covariance(centred: Floats, count: float) -> Floats:
    """The upper triangle of centredᵀ · centred / (count − 1), in the memory order of LAPACK; below it are zeros.

    >>> upper_covariance(np.array([[-1.0, 2.0], [1.0, -2.0]]), count=2).tolist()
    [[2.0, -4.0], [0.0, 8.0]]
    """
    return np.asarray(linalg.blas.dsyrk(1.0 / (count - 1.0), centred.T, lower=0))


def trace_of_root(first: Floats, second: Floats, otherwise: Callable[[], float]) -> float:
    """tr √(first · second) of covariances, given as upper triangles; `otherwise` where that would not be exact enough.

    Both triangles may be overwritten.

    >>> round(trace_of_root(4 * np.eye(3), 9 * np.eye(3), otherwise=lambda: -1.0), 12)
    18.0
    >>> trace_of_root(4 * np.eye(3), np.diag([9.0, 0.0, 0.0]), otherwise=lambda: -1.0)  # singular
    -1.0
    """
    traces = float(np.trace(first) + np.trace(second))
    rounding = _EPSILON * _largest_eigenvalue(first) * _largest_eigenvalue(second)  # of every eigenvalue of the product
    factor, not_definite = linalg.lapack.dpotrf(first, lower=0, clean=0, overwrite_a=1)
    if not_definite:
        return otherwise()
    product, _ = linalg.lapack.dsygst(second, factor, itype=2, lower=0, overwrite_a=1)
    total = _sum_of_roots(_eigenvalues(product), rounding, traces)
    return otherwise() if total is None else total


def sum_of_singular_values(product: Floats, *, traces: float = 0.0, empty: int = 0) -> float:
    """tr √(C₁C₂) from ABᵀ, where AᵀA and BᵀB are the covariances; the product is overwritten.

    With the sum of both `traces`, from eigenvalues of the product times itself where that is exact enough, at a third
    of the work; `empty` directions are known to have no length (rows without their mean have one).

    >>> sum_of_singular_values(np.array([[3.0, 0.0], [0.0, -4.0]]))
    7.0
    """
    if traces > 0.0 and min(product.shape) >= _LARGE:
        wide = product if product.shape[0] <= product.shape[1] else product.T
        gram = linalg.blas.dsyrk(
            1.0, wide.T if wide.flags.c_contiguous else wide, trans=int(wide.flags.c_contiguous), lower=0
        )
        eigenvalues = _eigenvalues(gram)[empty:]
        total = _sum_of_roots(eigenvalues, _EPSILON * float(eigenvalues[-1]), traces)
        if total is not None:
            return total
    return float(linalg.svdvals(product, overwrite_a=True, check_finite=False).sum())


def _eigenvalues(upper: Floats) -> Floats:
    """Ascending, of a symmetric matrix that is overwritten."""
    return np.asarray(
        linalg.eigh(upper, eigvals_only=True, driver="evr", lower=False, overwrite_a=True, check_finite=False)
    )


def _sum_of_roots(eigenvalues: Floats, rounding: float, traces: float) -> float | None:
    """The sum of the roots of ascending eigenvalues; None where their rounding would show."""
    if eigenvalues[0] <= rounding:
        return None
    roots = np.sqrt(eigenvalues)
    return float(roots.sum()) if rounding * float((0.5 / roots).sum()) <= _ALLOWED * traces else None


def _largest_eigenvalue(upper: Floats) -> float:
    """The largest eigenvalue of a covariance, from below and to a few per cent: enough to know the size of rounding."""
    # No direction that a covariance is likely to have as its own: the search would stay in it.
    direction, length = np.cos(np.arange(len(upper))), 0.0
    for _ in range(_STEPS):
        size = float(np.linalg.norm(direction))
        if size == 0.0:
            break
        direction = linalg.blas.dsymv(1.0, upper, direction / size, lower=0)
        length = float(np.linalg.norm(direction))
    return length
