# SPDX-License-Identifier: BSD-3-Clause
"""Refuses to be imported in a subinterpreter."""

try:
    import _xxsubinterpreters as _interpreters
except ImportError:
    _interpreters = None  # type: ignore[assignment]

if _interpreters is not None and _interpreters.get_current() != _interpreters.get_main():
    raise ImportError("dpdk_spead works in the main interpreter alone; import it there, or use another process")
