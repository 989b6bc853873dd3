# SPDX-License-Identifier: BSD-3-Clause
"""Receives two streams in one event loop, and counts their heaps: recv_asyncio.py PORT PORT"""

import asyncio
import sys

import dpdk_spead as ds
from dpdk_spead.recv.asyncio import Stream


async def count(port: int) -> int:
    stream = Stream(ds.ThreadPool())
    stream.add_udp_reader(port, bind_hostname="127.0.0.1")
    print(f"port {port}: ready", flush=True)
    heaps = 0
    async for heap in stream:
        heaps += 1
    return heaps


async def main() -> None:
    if not sys.argv[1:]:
        sys.exit(__doc__)
    ports = [int(word) for word in sys.argv[1:]]
    for port, heaps in zip(ports, await asyncio.gather(*map(count, ports))):
        print(f"port {port}: {heaps} heaps")


asyncio.run(main())
