// SPDX-License-Identifier: BSD-3-Clause
// Keeps the packets of every tenth heap before their payload is copied:  filter ens1f0 239.10.10.1:7148
#include <cstdio>
#include <memory>
#include <spead/filter.hpp>

namespace {

class EveryTenth final : public spead::PacketFilter {
  public:
    /// Runs on the lcore for every packet: no lock, no allocation, no wait.
    bool keep(const spead::Packet& packet) noexcept override { return packet.heap_cnt() % 10 == 0; }
};

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 3) {
        std::fprintf(stderr, "usage: filter INTERFACE ENDPOINT\n");
        return 2;
    }
    spead::Process process;
    spead::RecvStream stream(process, {.endpoints = {argv[2]},
                                       .interface = argv[1],
                                       .stop_on_stop_item = true,
                                       .packet_filter = [] { return std::make_unique<EveryTenth>(); }});
    for (const spead::Heap& heap : stream)
        std::printf("heap %llu\n", static_cast<unsigned long long>(heap.cnt()));
    std::printf("%llu packets were left out\n",
                static_cast<unsigned long long>(stream.stats().packets_filtered));
} catch (const spead::Error& error) {
    std::fprintf(stderr, "filter: %s\n", error.what());
    return 1;
}
