// SPDX-License-Identifier: BSD-3-Clause
// Receives its own heaps in chunks of 32; a function says where each goes.  place_callback
#include <cstdio>
#include <spead/chunk.hpp>
#include <spead/send.hpp>
#include <thread>
#include <vector>

constexpr std::uint64_t kChunks = 10, kHeaps = 32, kHeapBytes = 4096;

/// Puts heap n of the stream at n % 32 of chunk n / 32. On an lcore: no lock, no memory, no system call.
static void place(void*, std::span<const spead::HeapStart> heaps,
                  std::span<spead::HeapPlace> places) noexcept {
    for (std::size_t i = 0; i < heaps.size(); i++) {
        if (heaps[i].values[0] < 0 || heaps[i].bytes != kHeapBytes)
            continue;  // rejected
        const auto n = static_cast<std::uint64_t>(heaps[i].values[0]);
        places[i].chunk = static_cast<std::int64_t>(n / kHeaps);
        places[i].heap = n % kHeaps;
        places[i].offset = n % kHeaps * kHeapBytes;
    }
}

int main() try {
    const spead::ChunkSizes sizes{.heaps = kHeaps, .bytes = kHeaps * kHeapBytes};
    spead::Process process;
    spead::ChunkRing ring(process, 4);
    ring.add(sizes, 4);
    spead::ChunkStream stream(
        process, {.endpoints = {"239.10.10.10:7148"}, .interface = "net_ring0", .stop_on_stop_item = true},
        spead::PlaceCallback{.place = place, .items = {0x1600}, .chunk = sizes}, ring);

    std::jthread sending([&process] {
        spead::SendStream sender(process, {.endpoints = {"239.10.10.10:7148"}, .interface = "net_ring0"});
        const std::vector<std::byte> samples(kHeapBytes);
        for (std::uint64_t i = 0; i < kChunks * kHeaps; i++) {
            spead::SendHeap heap;
            heap.add_immediate(0x1600, i);
            heap.add(0x3300, std::span(samples));
            sender.send(heap);
            sender.wait_for(heap);
        }
        spead::SendHeap last;
        last.add_stop();
        sender.send(last);
    });

    std::uint64_t complete = 0;
    for (const spead::ChunkPtr& chunk : ring)
        complete += chunk->complete();
    const spead::ChunkStats stats = stream.stats();
    std::printf("%llu of %llu chunks are complete; the callback took %lld ns for a heap\n",
                static_cast<unsigned long long>(complete), static_cast<unsigned long long>(kChunks),
                static_cast<long long>(stats.callback_time.count()) /
                    static_cast<long long>(stats.callback_heaps == 0 ? 1 : stats.callback_heaps));
    return complete != kChunks;
} catch (const spead::Error& error) {
    std::fprintf(stderr, "place_callback: %s\n", error.what());
    return 1;
}
