# SPDX-License-Identifier: BSD-3-Clause
"""Sends arrays without a copy, and a stop item at the end: send_numpy.py HOST PORT [HEAPS [INTERFACE-ADDRESS]]

The descriptors go first, in a heap of their own. The data's heap is built once: only the arrays behind its items
change.
"""

import sys

import numpy as np

import dpdk_spead as ds
from dpdk_spead import send

if len(sys.argv) < 3:
    sys.exit(__doc__)
host, port, *rest = sys.argv[1:]
samples = np.zeros(4096, dtype=np.int16)
timestamp = np.zeros((), dtype=">u8")  # of this type, a number is read when its heap is sent

items = send.ItemGroup(flavour=ds.Flavour(4, 64, 48))
items.add_item(0x1600, "timestamp", "sample count of the first sample", (), format=[("u", 48)], value=timestamp)
items.add_item(0x3300, "samples", "of one antenna", samples.shape, samples.dtype, value=samples)
heap = items.get_heap(descriptors="none", data="all")

on = {"interface_address": rest[1]} if len(rest) > 1 else {}
config = send.StreamConfig(rate=50e6, max_packet_size=8192)
stream = send.UdpStream(ds.ThreadPool(), [(host, int(port))], config, **on)
stream.send_heap(items.get_heap(descriptors="all", data="none"))
for n in range(int(rest[0]) if rest else 100):
    timestamp[()] = n * samples.size
    samples[:] = n
    stream.send_heap(heap)
stream.send_heap(items.get_end())
print(f"{stream.stats()['packets']} packets sent")
