// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/heap_contents.hpp"

#include <fmt/core.h>

#include "base/verify_sequence.hpp"
#include "runtime/pattern_heaps.hpp"
#include "wire/descriptor.hpp"
#include "wire/flavour.hpp"

namespace spead::runtime {

namespace {

/// Makes heaps of items 0x1000 + i, each floor(heap_size / items / 4) words of the verification sequence or
/// of zeros. Heap i goes to endpoint i mod N.
class TestItems final : public HeapContents {
  public:
    explicit TestItems(const SendPlan& plan)
        : items_(plan.items),
          words_per_item_(plan.heap_size / plan.items / 4),
          flavour_(plan.address_bits),
          endpoints_(plan.endpoints.size()),
          verify_(plan.verify),
          repeat_items_(plan.repeat_items) {}

    std::uint64_t payload_bytes() const override { return words_per_item_ * 4 * items_; }
    std::unique_ptr<send::OutgoingHeap> make(std::byte* payload, bool describe) const override;
    bool described() const override { return true; }
    void add_descriptors(send::OutgoingHeap& heap) const override;
    void start_again(std::uint64_t) override {}
    std::uint32_t fill(send::OutgoingHeap& heap, std::span<std::byte> payload, std::uint64_t index,
                       std::uint64_t cnt) override;
    std::uint32_t together(std::uint64_t) const override { return 1; }

  private:
    std::uint32_t items_;
    std::uint64_t words_per_item_;
    wire::Flavour flavour_;
    std::size_t endpoints_;
    bool verify_;
    bool repeat_items_;
};

std::unique_ptr<send::OutgoingHeap> TestItems::make(std::byte* payload, bool describe) const {
    auto heap = std::make_unique<send::OutgoingHeap>(flavour_);
    heap->set_repeat_pointers(repeat_items_);
    if (describe)
        add_descriptors(*heap);
    for (std::uint32_t i = 0; i < items_; i++)
        heap->add_item(wire::item::kFirstUser + i, {payload + i * words_per_item_ * 4, words_per_item_ * 4},
                       true);
    return heap;
}

void TestItems::add_descriptors(send::OutgoingHeap& heap) const {
    for (std::uint32_t i = 0; i < items_; i++) {
        wire::Descriptor d;
        d.id = wire::item::kFirstUser + i;
        d.name = fmt::format("Test item {}", i);
        d.description = "A test item with arbitrary value";
        d.numpy_header =
            fmt::format("{{'shape': ({},), 'fortran_order': False, 'descr': '>u4'}}", words_per_item_);
        heap.add_descriptor(d);
    }
}

std::uint32_t TestItems::fill(send::OutgoingHeap&, std::span<std::byte> payload, std::uint64_t index,
                              std::uint64_t cnt) {
    if (verify_)
        verify_generate(payload, verify_heap_start(cnt, words_per_item_ * items_));
    return static_cast<std::uint32_t>(index % endpoints_);
}

}  // namespace

std::unique_ptr<HeapContents> make_heap_contents(const SendPlan& plan) {
    if (plan.pattern != HeapPattern::none)
        return std::make_unique<PatternHeaps>(plan);
    return std::make_unique<TestItems>(plan);
}

}  // namespace spead::runtime
