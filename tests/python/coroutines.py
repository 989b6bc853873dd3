# SPDX-License-Identifier: BSD-3-Clause
"""Helps with coroutines of one event loop."""

import asyncio


async def until_they_wait() -> None:
    """Lets begun coroutines come to their waits. Those of the package let others run once before that."""
    for _ in range(2):
        await asyncio.sleep(0)
