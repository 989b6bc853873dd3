// SPDX-License-Identifier: BSD-3-Clause
// Adds, changes and removes streams while others run:  change ens1f0 239.10.10.1:7148 239.10.10.2:7148
#include <chrono>
#include <cstdio>
#include <optional>
#include <spead/recv.hpp>

namespace {

using namespace std::chrono_literals;

void print(const spead::RecvStream& stream) {
    const spead::RecvStats stats = stream.stats();
    std::printf("%s: %llu packets, %llu of them placed\n", stream.name().c_str(),
                static_cast<unsigned long long>(stats.packets),
                static_cast<unsigned long long>(stats.packets_placed));
}

/// Takes heaps for half a second.
void take(spead::RecvStream& stream) {
    const auto end = std::chrono::steady_clock::now() + 500ms;
    while (std::chrono::steady_clock::now() < end)
        stream.get_for(10ms);
    print(stream);
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 4) {
        std::fprintf(stderr, "usage: change INTERFACE ENDPOINT ENDPOINT\n");
        return 2;
    }
    spead::Process process;
    spead::RecvStream first(process, {.endpoints = {argv[2]}, .interface = argv[1], .name = "first"});
    take(first);

    // Another stream of the same port: `first` loses nothing.
    std::optional<spead::RecvStream> second(
        std::in_place, process,
        spead::RecvConfig{.endpoints = {argv[3]}, .interface = argv[1], .name = "second"});
    take(*second);

    // Its endpoint goes to the first one.
    second.reset();
    first.add_endpoint(argv[3]);
    take(first);
    first.remove_endpoint(argv[2]);
    take(first);
} catch (const spead::Error& error) {
    std::fprintf(stderr, "change: %s\n", error.what());
    return 1;
}
