// SPDX-License-Identifier: BSD-3-Clause
// Prints the items of heaps as their descriptors explain them:  recv_items ens1f0 239.10.10.0+15:7148
#include <cstdio>
#include <spead/items.hpp>

int main(int argc, char** argv) try {
    if (argc < 3) {
        std::fprintf(stderr, "usage: recv_items INTERFACE ENDPOINT...\n");
        return 2;
    }
    spead::Process process;  // EAL, on a thread of its own; this thread stays as it is
    spead::RecvStream stream(
        process, {.endpoints{argv + 2, argv + argc}, .interface = argv[1], .stop_on_stop_item = true});
    spead::ItemGroup items;
    for (spead::Heap& heap : stream) {
        std::printf("heap %llu, %llu bytes%s\n", static_cast<unsigned long long>(heap.cnt()),
                    static_cast<unsigned long long>(heap.length()), heap.complete() ? "" : ", incomplete");
        for (const std::uint64_t id : items.update(std::move(heap))) {
            const spead::DescribedItem& item = *items.find(id);
            std::printf("  0x%llx %s: %llu elements", static_cast<unsigned long long>(id),
                        item.name().c_str(), static_cast<unsigned long long>(item.elements()));
            if (const auto text = item.text())
                std::printf(", \"%s\"", text->c_str());
            else if (const auto number = item.as<double>())
                std::printf(", %g", *number);
            else if (const auto numbers = item.array<double>(); numbers && !numbers->empty())
                std::printf(", %g to %g", numbers->front(), numbers->back());
            std::printf("\n");
        }
    }
    std::printf("the stream has ended\n");
} catch (const spead::Error& error) {
    std::fprintf(stderr, "recv_items: %s\n", error.what());
    return 1;
}
