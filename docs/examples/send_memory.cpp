// SPDX-License-Identifier: BSD-3-Clause
// Sends 1000 spectra straight from the program's own memory:  send_memory ens1f0 239.10.10.1:7148
#include <cstdint>
#include <cstdio>
#include <span>
#include <spead/send.hpp>
#include <vector>

int main(int argc, char** argv) try {
    if (argc != 3) {
        std::fprintf(stderr, "usage: send_memory INTERFACE ENDPOINT\n");
        return 2;
    }
    constexpr std::size_t kChannels = 1024, kHeaps = 8;
    constexpr std::uint64_t kTimestamp = 0x1600, kSpectrum = 0x4300;

    spead::Process process;
    const auto memory = spead::Memory::huge(process, kHeaps * kChannels * sizeof(float));
    spead::SendStream stream(
        process, {.endpoints = {argv[2]}, .interface = argv[1], .rate = 10e6, .max_heaps = kHeaps});

    // The first heap describes the items to receivers.
    spead::SendHeap description;
    description.add_descriptor({.id = kTimestamp, .name = "timestamp", .shape = {}, .format = "u48"});
    description.add_descriptor({.id = kSpectrum, .name = "spectrum", .shape = {kChannels}, .dtype = "<f4"});
    stream.send(description);

    // Heaps are built once and sent again and again: only the bytes behind their items change.
    struct Slot {
        spead::SendHeap heap;
        std::span<float> spectrum;
        std::size_t timestamp = 0;
    };
    std::vector<Slot> slots(kHeaps);
    for (std::size_t i = 0; i < slots.size(); i++) {
        slots[i].spectrum = memory.as<float>().subspan(i * kChannels, kChannels);
        slots[i].timestamp = slots[i].heap.add_immediate(kTimestamp, 0);
        slots[i].heap.add(kSpectrum, slots[i].spectrum);
    }
    for (std::uint64_t t = 0; t < 1000; t++) {
        Slot& slot = slots[t % kHeaps];
        stream.wait_for(slot.heap);  // until its last bytes are on their way
        for (std::size_t c = 0; c < kChannels; c++)
            slot.spectrum[c] = static_cast<float>(t + c);
        slot.heap.set_immediate(slot.timestamp, t);
        stream.send(slot.heap);
    }
    stream.end();  // a stop heap
    const spead::SendStats stats = stream.stats();
    std::printf("%llu heaps in %llu packets\n", static_cast<unsigned long long>(stats.heaps),
                static_cast<unsigned long long>(stats.packets));
} catch (const spead::Error& error) {
    std::fprintf(stderr, "send_memory: %s\n", error.what());
    return 1;
}
