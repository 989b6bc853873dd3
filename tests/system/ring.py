# SPDX-License-Identifier: BSD-3-Clause
"""Plans of one ring: what a process sends on port p0 comes back to it."""

import json


def table(name, /, **keys):
    """A table of TOML. A text is quoted, and None left out."""
    lines = [f"{key} = {json.dumps(value if isinstance(value, (str, bool, int)) else str(value))}\n"
             for key, value in keys.items() if value is not None]
    return f"[{name}]\n{''.join(lines)}"


def endpoint(number):
    return f'endpoints = ["239.1.1.{number + 1}:7148"]\n'


def stream(number, sink, *, placement=None, chunks=None, memory=None, gather=None, max_bytes="64KiB", on_full="block"):
    """The stream sNUMBER. `sink`: the keys of its sink."""
    chunk = table("receive.chunk", placement=placement, chunks=chunks, memory=memory) if placement else ""
    heaps = table("receive.heaps", max_bytes=max_bytes, on_full=on_full, gather=gather)
    return (table("[receive]", name=f"s{number}", port="p0") + endpoint(number) + heaps + chunk +
            table("receive.sink", **sink))


def sender(number, **keys):
    """The sender dNUMBER to that stream."""
    return table("[send]", name=f"d{number}", port="p0", **keys) + endpoint(number)


def plan(*tables, more=""):
    return ("version = 1\n" + table("memory", heaps="16MiB") + table("[port]", name="p0", device="net_ring0") +
            "".join(tables) + more)
