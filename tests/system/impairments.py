# SPDX-License-Identifier: BSD-3-Clause
"""The effect of --impair on packets, written from docs/impair.md: tests compare the program with this."""

import struct

MASK = 2**64 - 1
LOSS, DUPLICATE, CORRUPT, DELAY, BIT, EXCHANGE = range(6)
LARGEST_GROUP = 1024
NET_HEADER = 42  # Ethernet, IPv4 and UDP
NET_HEADER6 = 62


def mixed(word):
    """SplitMix64."""
    word = (word + 0x9E3779B97F4A7C15) & MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def net_header(frame):
    return NET_HEADER6 if frame[12:14] == b"\x86\xdd" else NET_HEADER


class Impairments:
    """Applies itself to frames; delays are left out."""

    def __init__(self, loss=0.0, duplicate=0.0, corrupt=0.0, reorder=0, seed=1):
        self.loss, self.duplicate, self.corrupt, self.reorder, self.seed = loss, duplicate, corrupt, reorder, seed
        self.lost = self.duplicated = self.corrupted = self.reordered = 0

    def __str__(self):
        return (f"loss={self.loss},duplicate={self.duplicate},corrupt={self.corrupt},reorder={self.reorder},"
                f"seed={self.seed}")

    def word(self, draw, number):
        return mixed((mixed((mixed(self.seed) + draw) & MASK) + number) & MASK)

    def hits(self, fraction, draw, number):
        return (self.word(draw, number) >> 11) * 2.0**-53 < fraction

    def is_lost(self, number):
        return self.hits(self.loss, LOSS, number)

    def inverted_bit(self, frame, number):
        """Which bit of the frame is inverted; None: none is."""
        if not self.hits(self.corrupt, CORRUPT, number) or self.is_lost(number):
            return None
        header = net_header(frame)
        return header * 8 + self.word(BIT, number) % ((len(frame) - header) * 8)

    def apply(self, frames):
        """Returns the frames that leave the queue when these are given to it."""
        groups, group = [], []
        for number, frame in enumerate(frames):
            if self.is_lost(number):
                self.lost += 1
                continue
            bit = self.inverted_bit(frame, number)
            if bit is not None:
                self.corrupted += 1
                changed = bytearray(frame)
                changed[bit // 8] ^= 1 << bit % 8
                frame = bytes(changed)
            twice = self.hits(self.duplicate, DUPLICATE, number)
            self.duplicated += twice
            group += [frame] * (2 if twice else 1)
            if len(group) >= max(self.reorder, 1):
                groups.append(group)
                group = []
        if group:
            groups.append(group)
        sent = []
        for number, members in enumerate(groups):
            order = list(range(len(members)))
            if self.reorder > 1:
                for place in range(len(members) - 1, 0, -1):
                    other = self.word(EXCHANGE, number * LARGEST_GROUP + place) % (place + 1)
                    order[place], order[other] = order[other], order[place]
            most = 0
            for place in order:
                self.reordered += place < most
                most = max(most, place)
                sent.append(members[place])
        return sent


def heap_of(frame):
    """(heap count, offset, payload length, where its payload begins in the frame) of a packet as the program sends it."""
    items = struct.unpack_from(">H", frame, NET_HEADER + 6)[0]
    found = {}
    for index in range(items):
        pointer = struct.unpack_from(">Q", frame, NET_HEADER + 8 + 8 * index)[0]
        if pointer >> 63:
            found.setdefault(pointer >> 40 & 0x7FFFFF, pointer & (2**40 - 1))
    return found[1], found[3], found[4], NET_HEADER + 8 + 8 * items
