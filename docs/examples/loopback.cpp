// SPDX-License-Identifier: BSD-3-Clause
// Sends heaps to itself, without a network: a port that receives its own packets.  loopback
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <spead/recv.hpp>
#include <spead/send.hpp>
#include <vector>

int main() try {
    constexpr int kHeaps = 1000;
    spead::Process process;
    spead::RecvStream receiver(process, {.endpoints = {"239.10.10.10:7148"}, .interface = "net_ring0"});
    spead::SendStream sender(process, {.endpoints = {"239.10.10.10:7148"}, .interface = "net_ring0"});

    std::vector<int> values(4096);
    std::iota(values.begin(), values.end(), 0);
    spead::SendHeap heap;
    heap.add(0x1000, std::span(values));

    int right = 0;
    for (int i = 0; i < kHeaps; i++) {
        sender.wait_for(heap);
        sender.send(heap);
        const std::optional<spead::Heap> back = receiver.get();
        const std::span<const std::byte> bytes = back->bytes(0x1000);
        right += std::ranges::equal(bytes, std::as_bytes(std::span(values)));
    }
    std::printf("%d of %d heaps came back as they were\n", right, kHeaps);
    return right == kHeaps ? 0 : 1;
} catch (const spead::Error& error) {
    std::fprintf(stderr, "loopback: %s\n", error.what());
    return 1;
}
