# SPDX-License-Identifier: BSD-3-Clause
"""Receives and sends SPEAD heaps over DPDK, kernel sockets, files and memory."""

from ._native import Empty, Error, Full, InprocQueue, Stopped, UsageError

__all__ = ["Empty", "Error", "Full", "InprocQueue", "Stopped", "UsageError"]
