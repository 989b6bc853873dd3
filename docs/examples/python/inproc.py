# SPDX-License-Identifier: BSD-3-Clause
"""Tests a sender and a receiver together within the process: no network, no privilege, nothing lost."""

import numpy as np

import dpdk_spead as ds
from dpdk_spead import recv, send

queue = ds.InprocQueue()
pool = ds.ThreadPool()
receiver = recv.Stream(pool)
receiver.add_inproc_reader(queue)
sender = send.InprocStream(pool, [queue])

sent = send.ItemGroup()
sent.add_item(0x1000, "spectrum", "power by channel", (64,), np.float32)
sent.add_item(0x1001, "antenna", "its name", (None,), format=[("c", 8)])
for n in range(10):
    sent["spectrum"].value = np.full(64, n, np.float32)
    sent["antenna"].value = f"m{n:03}"
    sender.send_heap(sent.get_heap())
sender.send_heap(sent.get_end())

received = ds.ItemGroup()
for n, heap in enumerate(receiver):
    received.update(heap)
    np.testing.assert_array_equal(received["spectrum"].value, np.full(64, n, np.float32))
    assert received["antenna"].value == f"m{n:03}"
assert receiver.stats.heaps == n + 1 == 10
print("10 of 10 heaps came back as they were")
