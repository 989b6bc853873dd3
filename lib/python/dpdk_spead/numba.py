# SPDX-License-Identifier: BSD-3-Clause
"""Helps functions that numba compiles to read what the library passes by address."""

from typing import Any

from numba import types
from numba.extending import intrinsic


@intrinsic
def intp_to_voidptr(typing_context: Any, src: Any) -> Any:
    """Converts an integer that is an address to a pointer, which numba.carray takes. For compiled functions only."""
    if not isinstance(src, types.Integer):
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(types.voidptr))

    return types.voidptr(src), generate
