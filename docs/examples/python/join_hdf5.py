# SPDX-License-Identifier: BSD-3-Clause
"""Joins files of the sink `hdf5` by virtual data sets: those of several runs one after another in time, and those of
several shards side by side. Nothing is copied. Needs h5py.

usage: join_hdf5.py OUT.h5 AXIS FILE.h5...    AXIS: the axis along which shards lie, or `none` for files of one shard

OUT.h5 has `data` and `presence`, with a place for each id from the first chunk to the last, and `first_chunk`. Files of
one directory are one shard. What no file has reads as zeros, also in `presence`.
"""

import os
import sys
from pathlib import Path

os.environ["HDF5_EXTFILE_PREFIX"] = "${ORIGIN}"
import h5py  # noqa: E402  it reads the variable


def join(out, axis, paths):
    """Writes the joined data sets."""
    shards = list(dict.fromkeys(path.parent for path in paths))
    ids = {path: h5py.File(path)["chunks"]["id"] for path in paths}
    first = min(int(numbers.min()) for numbers in ids.values())
    length = max(int(numbers.max()) for numbers in ids.values()) + 1 - first
    with h5py.File(out, "w", libver="latest") as joined:
        joined.attrs["first_chunk"] = first
        for name in ("data", "presence"):
            with h5py.File(paths[0]) as one:
                shape, dtype = list(one[name].shape), one[name].dtype
                axes = one[name].attrs["axes"].decode().split(",")
            along = axes.index(axis) if axis != "none" else None
            width = 0 if along is None else shape[along]
            whole = [length, *shape[1:]]
            if along is not None:
                whole[along] *= len(shards)
            layout = h5py.VirtualLayout(shape=tuple(whole), dtype=dtype)
            for path in paths:
                source = h5py.VirtualSource(os.path.relpath(path, out.parent), name,
                                            shape=(len(ids[path]), *shape[1:]))
                for row, number in enumerate(ids[path]):
                    place = [slice(None)] * len(whole)
                    place[0] = int(number) - first
                    if along is not None:
                        shard = shards.index(path.parent)
                        place[along] = slice(shard * width, (shard + 1) * width)
                    layout[tuple(place)] = source[row]
            joined.create_virtual_dataset(name, layout, fillvalue=0)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    join(Path(sys.argv[1]), sys.argv[2], [Path(word) for word in sys.argv[3:]])
