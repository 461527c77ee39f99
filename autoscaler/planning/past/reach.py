"""Reach: how often how many instances are wanted at once."""

import numpy as np

from autoscaler.planning.past.demand_history import FloatArray


def share_of_time(samples: FloatArray) -> tuple[float, ...]:
    """Return the share of the known time with at least 1, 2, … instances wanted.

    Parameters
    ----------
    samples
        Instances wanted at even points in time; NaN where not known.
    """
    known = samples[~np.isnan(samples)]
    return share_reaching(known, np.ones(len(known)))


def share_reaching(values: FloatArray, weights: FloatArray) -> tuple[float, ...]:
    """Return the share of the weights whose value is at least 1, 2, … up to the largest.

    Parameters
    ----------
    values
        Half an instance and more counts as one.
    weights
        One a value.
    """
    whole = np.floor(values + 0.5).astype(np.int64)
    if not len(whole) or not weights.sum() > 0:
        return ()
    at = np.bincount(np.maximum(whole, 0), weights=weights) / weights.sum()
    reached = np.cumsum(at[::-1])[::-1][1:]
    return tuple(round(float(share), 9) for share in reached)
