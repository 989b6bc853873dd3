// SPDX-License-Identifier: BSD-3-Clause
// Tests the placement of a receiver with packets made by hand: no network, no EAL, no privileges. test_chunks
#include <cstdint>
#include <cstdio>
#include <spead/chunk.hpp>
#include <spead/readers.hpp>
#include <vector>

constexpr std::uint64_t kHeapBytes = 16;

/// Makes a packet of SPEAD-64-48 that is a whole heap. Its payload is `fill`.
static std::vector<std::byte> packet(std::uint64_t heap, std::uint64_t timestamp, std::uint64_t antenna,
                                     std::byte fill) {
    // Immediate items: heap count, heap length, payload offset, payload length, and two of the sender's.
    const std::uint64_t items[6][2] = {{1, heap},       {2, kHeapBytes},     {3, 0},
                                       {4, kHeapBytes}, {0x1600, timestamp}, {0x4101, antenna}};
    std::vector<std::uint64_t> words{0x5304020600000006};  // magic, version, widths, number of items
    for (const auto& [id, value] : items)
        words.push_back(std::uint64_t{1} << 63 | id << 48 | value);
    std::vector<std::byte> bytes;
    for (const std::uint64_t word : words)
        for (int shift = 56; shift >= 0; shift -= 8)
            bytes.push_back(static_cast<std::byte>(word >> shift));
    bytes.insert(bytes.end(), kHeapBytes, fill);
    return bytes;
}

static bool require(bool holds, const char* what) {
    std::printf("%s: %s\n", holds ? "right" : "WRONG", what);
    return holds;
}

int main() try {
    spead::Placement placement(kHeapBytes);  // the one that the program uses
    placement.axis("antenna", spead::item(0x4101), 2).time(spead::item(0x1600) / 1000, 4);
    spead::InprocQueue network;
    spead::ChunkRing ring(4);
    ring.add(placement, 4);
    const spead::ChunkStream stream({}, spead::Reader::queue(network), placement, ring);
    network.push(packet(1, 0, 0, std::byte{1}));
    network.push(packet(2, 2000, 1, std::byte{2}));
    network.push(packet(3, 2500, 1, std::byte{3}));  // between two steps
    network.push(packet(4, 9000, 0, std::byte{4}));  // of chunk 2
    network.stop();                                  // the end of the stream
    bool right = true;
    for (const spead::ChunkPtr& chunk : ring) {
        if (chunk->id == 0) {
            right &= require(chunk->present[0] == 1 && chunk->present[4 + 2] == 1, "two heaps are present");
            right &= require(chunk->data[(4 + 2) * kHeapBytes] == std::byte{2}, "payload is in its place");
        } else {
            right &= require(chunk->id == 2 && chunk->present[1] == 1, "a later time has a later chunk");
        }
    }
    const spead::ChunkStats stats = stream.stats();
    right &= require(stats.packets_placed == 3 && stats.packets_rejected == 1, "one packet is rejected");
    return right ? 0 : 1;
} catch (const spead::Error& error) {
    std::fprintf(stderr, "test_chunks: %s\n", error.what());
    return 1;
}
