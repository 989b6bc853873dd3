# SPDX-License-Identifier: BSD-3-Clause
"""Reads the arguments of functions that have several forms."""

from typing import Any, Dict, Sequence, Tuple


def by_name(what: str, names: Sequence[str], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """Returns the arguments by name. Raises TypeError for too many, and for unknown names."""
    if len(args) > len(names):
        raise TypeError(f"{what} takes {len(names)} arguments, and {len(args)} were given")
    values = dict(zip(names, args))
    for name, value in kwargs.items():
        if name not in names or name in values:
            raise TypeError(f"{what}: the argument {name!r} is unknown, or was given twice")
        values[name] = value
    return values
