"""Holm's adjusted p-values against the published family and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from areopagus.aggregation.multiplicity import holm

# Benjamini & Hochberg (1995), the thrombolysis example.
FAMILY = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240,
          0.4262, 0.5719, 0.6528, 0.7590, 1.0]  # fmt: skip


def test_holm_rejects_three_of_the_published_family_and_agrees_with_statsmodels() -> None:
    adjusted = holm(FAMILY)
    assert (adjusted <= 0.05).sum() == 3
    assert adjusted == pytest.approx(multipletests(FAMILY, method="holm")[1])


def test_what_has_no_p_counts_for_nothing_and_the_order_stays() -> None:
    adjusted = holm([0.04, np.nan, 0.01])
    assert adjusted[[0, 2]] == pytest.approx([0.04, 0.02])
    assert np.isnan(adjusted[1])
    assert holm([]).size == 0


def test_what_is_no_p_is_refused() -> None:
    with pytest.raises(ValueError, match="p-values must be in"):
        holm([0.5, 1.5])
