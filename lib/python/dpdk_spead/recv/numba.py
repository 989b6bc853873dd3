# SPDX-License-Identifier: BSD-3-Clause
"""Describes to numba what a place callback gets."""

from numba import types

#: Is the record that a place callback gets for a heap, by address: ten words. `items`, `batch_stats` and `extra` are
#: addresses (dpdk_spead.numba.intp_to_voidptr). The callback writes `chunk_id`, `heap_index`, `heap_offset`,
#: `extra_offset` and `extra_size`. `packet` is null, and `packet_size` 0: headers are not kept. All are signed here, so
#: that sums of them stay integers.
chunk_place_data = types.Record.make_c_struct(
    [
        ("packet", types.intp),
        ("packet_size", types.intp),
        ("items", types.intp),
        ("chunk_id", types.int64),
        ("heap_index", types.intp),
        ("heap_offset", types.intp),
        ("batch_stats", types.intp),
        ("extra", types.intp),
        ("extra_offset", types.intp),
        ("extra_size", types.intp),
    ]
)
