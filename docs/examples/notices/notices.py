# SPDX-License-Identifier: BSD-3-Clause
"""Prints the notices that `--notify` gives out, as dictionaries. The other examples import it. No packages needed.

usage: notices.py unix:PATH | tcp:ADDRESS:PORT
"""

import json
import socket
import sys


def connect(address):
    """A socket to `unix:PATH` or `tcp:ADDRESS:PORT`."""
    kind, place = address.split(":", 1)
    if kind == "unix":
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(place)
        return connection
    host, _, port = place.rpartition(":")
    return socket.create_connection((host or "127.0.0.1", int(port)))


def notices(address):
    """Yields each notice, until the receiver ends."""
    with connect(address) as connection, connection.makefile("r", encoding="utf-8") as lines:
        for line in lines:
            notice = json.loads(line)
            if "refused" in notice:
                raise ConnectionRefusedError(notice["refused"])
            if notice["lost"]:
                print(f"{notice['lost']} notices were lost", file=sys.stderr)
            yield notice


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for one in notices(sys.argv[1]):
        print(one, flush=True)
