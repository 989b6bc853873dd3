# SPDX-License-Identifier: BSD-3-Clause
"""Receives heaps, and prints the items that each brings: recv_items.py GROUP PORT [INTERFACE-ADDRESS]

DPDK_SPEAD_INTERFACE=ens1f0 recv_items.py 239.10.10.1 7148 receives the same from a port of DPDK.
"""

import sys

import dpdk_spead as ds
from dpdk_spead import recv

if len(sys.argv) < 3:
    sys.exit(__doc__)
group, port, *address = sys.argv[1:]
stream = recv.Stream(ds.ThreadPool(), recv.StreamConfig(max_heaps=4), recv.RingStreamConfig(heaps=16))
stream.add_udp_reader(group, int(port), interface_address=address[0] if address else "")

items = ds.ItemGroup()
for heap in stream:  # ends with the sender's stop item
    for name, item in items.update(heap).items():
        print(f"heap {heap.cnt}: {name} = {item.value!r:.60}")
print(f"{stream.stats.heaps} heaps, {stream.counters['packets_lost']} packets lost before the stream")
