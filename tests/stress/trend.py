# SPDX-License-Identifier: BSD-3-Clause
"""Whether a quantity that was sampled over time grows."""

import math
from dataclasses import dataclass

# A slope counts when it is so many times its standard error. Samples of one process depend on one another, which makes
# the error look smaller than it is; hence more than the usual 2.
SURE = 6


@dataclass
class Trend:
    """The line of least squares: `slope` per second, its standard `error`, and the growth over the samples' time."""

    slope: float
    error: float
    growth: float
    first: float

    def grows(self, tolerance):
        """Whether it surely grows, and in this time by more than the tolerance."""
        return self.growth > tolerance and self.slope > SURE * self.error


def trend(samples):
    """The trend of (time in seconds, value) without the first fifth, in which a process warms up. None: too few."""
    kept = samples[len(samples) // 5:]
    count = len(kept)
    if count < 3 or kept[-1][0] <= kept[0][0]:
        return None
    mean_time = sum(time for time, _ in kept) / count
    mean = sum(value for _, value in kept) / count
    spread = sum((time - mean_time) ** 2 for time, _ in kept)
    slope = sum((time - mean_time) * (value - mean) for time, value in kept) / spread
    residual = sum((value - mean - slope * (time - mean_time)) ** 2 for time, value in kept)
    error = math.sqrt(residual / (count - 2) / spread)
    length = kept[-1][0] - kept[0][0]
    return Trend(slope, error, slope * length, mean + slope * (kept[0][0] - mean_time))
