// SPDX-License-Identifier: BSD-3-Clause
// Sends heaps to itself and receives them in chunks [polarisation][time][4096 bytes].  chunks
#include <cstdio>
#include <spead/chunk.hpp>
#include <spead/send.hpp>
#include <thread>
#include <vector>

int main() try {
    constexpr std::uint64_t kChunks = 10, kTimes = 32, kHeapBytes = 4096, kSamples = 2048;

    spead::Placement placement(kHeapBytes);  // other heaps are rejected
    placement
        .axis("polarisation", spead::item(0x3101) & 1, 2)  // outermost first
        .time(spead::item(0x1600) / kSamples, kTimes)      // one heap a step: also the chunk's id
        .extra<std::uint16_t>(spead::item(0x3102));
    std::fputs(placement.explain().c_str(), stdout);

    spead::Process process;
    spead::ChunkRing ring(process, 4);
    ring.add(placement, 4);
    spead::ChunkStream stream(
        process, {.endpoints = {"239.10.10.10:7148"}, .interface = "net_ring0", .stop_on_stop_item = true},
        placement, ring, {.window = 2});

    std::jthread sending([&process] {
        spead::SendStream sender(process, {.endpoints = {"239.10.10.10:7148"}, .interface = "net_ring0"});
        const std::vector<std::byte> samples(kHeapBytes);
        for (std::uint64_t i = 0; i < kChunks * kTimes * 2; i++) {
            spead::SendHeap heap;
            heap.repeat_pointers(true);  // every packet tells its place
            heap.add_immediate(0x1600, i / 2 * kSamples);
            heap.add_immediate(0x3101, i % 2);
            heap.add_immediate(0x3102, i % 100);
            heap.add(0x3300, std::span(samples));
            sender.send(heap);
            sender.wait_for(heap);
        }
        spead::SendHeap last;
        last.add_stop();
        sender.send(last);
        sender.wait_for(last);
    });

    std::uint64_t complete = 0;
    for (const spead::ChunkPtr& chunk : ring) {  // goes back to the free ones when its turn is over
        if (!chunk->complete())
            std::printf("chunk %lld has %llu of %llu heaps\n", static_cast<long long>(chunk->id),
                        static_cast<unsigned long long>(chunk->heaps_present),
                        static_cast<unsigned long long>(chunk->heaps_expected));
        complete += chunk->complete() ? 1 : 0;
    }
    std::printf("%llu of %llu chunks are complete\n", static_cast<unsigned long long>(complete),
                static_cast<unsigned long long>(kChunks));
    return complete == kChunks ? 0 : 1;
} catch (const spead::Error& error) {
    std::fprintf(stderr, "chunks: %s\n", error.what());
    return 1;
}
