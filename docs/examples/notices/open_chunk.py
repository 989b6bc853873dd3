# SPDX-License-Identifier: BSD-3-Clause
"""Opens each chunk that a notice tells of, and prints the mean of the bytes that arrived. For the sinks `file` and
`raw`. Needs numpy.

usage: open_chunk.py ADDRESS-OF-NOTICES
"""

import sys

import numpy as np
from notices import notices

if len(sys.argv) < 2:
    sys.exit(__doc__)
for notice in notices(sys.argv[1]):
    data, there = (np.memmap(notice["path"], np.uint8, "r", place["offset"], place["bytes"])
                   for place in (notice["payload"], notice["presence"]))
    heaps = data.reshape(len(there), -1)  # for placements whose heaps follow each other
    print(f"{notice['stream']} chunk {notice['chunk']}: mean {heaps[there == 1].mean():.3f}", flush=True)
