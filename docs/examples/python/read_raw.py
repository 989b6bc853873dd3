# SPDX-License-Identifier: BSD-3-Clause
"""Reads what `--sink raw:DIR` writes, while it is written or later: a line for each heap or chunk, with the mean of
its bytes. Needs numpy only.

usage: read_raw.py DIR [heaps|chunks]
"""

import json
import sys
from pathlib import Path

import numpy as np


def read(directory, index):
    """Yields each line of the index, and its payload as bytes; None for a heap that was incomplete."""
    with open(directory / index, encoding="utf-8") as lines:
        for text in lines:
            if not text.endswith("\n"):
                return  # it is being written
            line = json.loads(text)
            place = line.get("payload")
            payload = None
            if place is not None:
                payload = np.fromfile(directory / line["file"], np.uint8, place["bytes"], offset=place["offset"])
            yield line, payload


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    kind = sys.argv[2] if len(sys.argv) > 2 else "heaps"
    for line, payload in read(Path(sys.argv[1]), f"{kind}.jsonl"):
        name = line["cnt" if kind == "heaps" else "chunk"]
        print(f"{line['stream']} {name}:", "incomplete" if payload is None else f"mean {payload.mean():.3f}")
