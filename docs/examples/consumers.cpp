// SPDX-License-Identifier: BSD-3-Clause
// Receives one stream on two lcores into four threads:  consumers ens1f0 2,3 239.10.10.0+15:7148
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <spead/recv.hpp>
#include <sstream>
#include <thread>
#include <vector>

int main(int argc, char** argv) try {
    if (argc < 4) {
        std::fprintf(stderr, "usage: consumers INTERFACE CPU,CPU ENDPOINT...\n");
        return 2;
    }
    std::vector<unsigned> lcores;
    std::istringstream cpus(argv[2]);
    for (std::string cpu; std::getline(cpus, cpu, ',');)
        lcores.push_back(static_cast<unsigned>(std::strtoul(cpu.c_str(), nullptr, 10)));

    spead::Process process({.lcores = lcores});
    spead::RecvStream stream(process, {.endpoints{argv + 3, argv + argc},
                                       .interface = argv[1],
                                       .lcores = lcores,  // heaps are distributed to them by their count
                                       .stop_on_stop_item = true});
    std::mutex turn;  // one thread at a time asks for a heap; all of them work
    std::atomic<std::uint64_t> heaps{0}, sum{0};
    const auto consume = [&] {
        for (;;) {
            std::unique_lock lock(turn);
            const std::optional<spead::Heap> heap = stream.get();
            lock.unlock();
            if (!heap)
                return;
            heaps++;
            for (const std::byte b : heap->payload())
                sum += std::to_integer<std::uint64_t>(b);
        }
    };
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(consume);
    threads.clear();
    std::printf("%llu heaps, sum %llu\n", static_cast<unsigned long long>(heaps.load()),
                static_cast<unsigned long long>(sum.load()));
} catch (const spead::Error& error) {
    std::fprintf(stderr, "consumers: %s\n", error.what());
    return 1;
}
