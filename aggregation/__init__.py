"""Every estimator: arrays in, `Estimate` out.

Names are resolved when they are first used: scoring a run loads none of what calibration needs.
Types and the rarer functions stand in the modules.
"""

from __future__ import annotations

from ..lazy import lazy_names

# These bear the names of their modules: once such a module is imported, by anybody, the package's
# attribute is the module, unless the function has been bound here. They and what they import take
# scipy.stats and scipy.sparse late: these load longer than a small run lasts.
from .alt_test import alt_test as alt_test
from .degradation import degradation as degradation
from .effective_judges import effective_judges as effective_judges
from .noise_floor import noise_floor as noise_floor
from .severity import severity as severity

__getattr__, __dir__, __all__ = lazy_names(__name__)
