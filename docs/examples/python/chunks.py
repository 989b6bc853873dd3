# SPDX-License-Identifier: BSD-3-Clause
"""Receives heaps into chunks at declared places, and draws which came: chunks.py ENDPOINT INTERFACE [PICTURE]

Heaps of send_numpy.py go to 16 places of a chunk, by their timestamps. Without PICTURE, a window shows each chunk.
"""

import sys

import matplotlib

if len(sys.argv) < 3:
    sys.exit(__doc__)
endpoint, interface, *picture = sys.argv[1:]
if picture:
    matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

from dpdk_spead import recv  # noqa: E402

placement = recv.Placement("heap 8192; time: item 0x1600 / 4096 [16]; tracked")
print(placement.explain())
rows = []
figure, axes = plt.subplots()
with recv.ChunkStream(placement, chunks=8, endpoints=endpoint, interface=interface, backend="kernel",
                      dtype=np.int16, stop_on_stop_item=True) as stream:
    for chunk in stream:
        there = chunk.data[chunk.present == 1]  # the rest is undefined
        print(f"chunk {chunk.id}: {chunk.heaps_present} of {chunk.heaps_expected} heaps, mean {there.mean():.1f}")
        rows.append(chunk.present.copy())
        chunk.release()  # its memory takes new heaps
        axes.imshow(rows[-64:], aspect="auto", vmin=0, vmax=1)
        if not picture:
            plt.pause(0.001)
axes.set(xlabel="heap of the chunk", ylabel="chunk")
if picture:
    figure.savefig(picture[0])
print(stream.counters["packets_placed"], "of", stream.counters["packets"], "packets placed")
