"""How many degrees of freedom a sample variance has where values have heavy tails."""

import numpy as np
import numpy.typing as npt


def degrees_by_excess(n: int, excess: float) -> float:
    """Returns the degrees of freedom that an estimated variance is worth, n − 1 at most.

        df = 2 / (max(κ, 0) / n + 2 / (n − 1))

    Satterthwaite's 2 σ⁴ / Var(s²) with Var(s²) = σ⁴ (κ / n + 2 / (n − 1)). A few values far from
    the rest make nearly all of the variance; it is then as uncertain as if there were only those
    few, and Student's t with n − 1 degrees of freedom is too short. The kurtosis of a sample is
    mostly too small, so this corrects part of it. Tails lighter than the normal's are not made use
    of.

    Args:
        n: values, at least two.
        excess: κ, the kurtosis − 3.

    Source: O'Neill (2014), The American Statistician 68, 282–296, for the moments of s² and its
    effective degrees of freedom; Satterthwaite (1946), Biometrics Bulletin 2, 110–114.
    """
    return 2 / (max(0.0, excess) / n + 2 / (n - 1))


def variance_degrees(values: npt.ArrayLike) -> float:
    """Returns the degrees of freedom of the variance of a sample: `degrees_by_excess` of its own.

    Args:
        values: shape (n,), at least two, none missing; their location and scale do not matter.

    Returns:
        n − 1 where the values do not vary.

    Raises:
        ValueError: fewer than two values, or not one-dimensional.
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or sample.size < 2:
        raise ValueError(f"at least two values in one dimension, got shape {sample.shape}")
    n = sample.size
    squares = (sample - sample.mean()) ** 2
    total = float(squares.sum())
    if total <= 0:
        return float(n - 1)
    # Over the largest, so that squares of tiny values do not vanish.
    scaled = squares / float(squares.max())
    kurtosis = n * float((scaled**2).sum()) / float(scaled.sum()) ** 2
    return degrees_by_excess(n, kurtosis - 3)
