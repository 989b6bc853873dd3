// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <pybind11/pybind11.h>
#include <span>
#include <spead/recv.hpp>
#include <vector>

namespace spead::python {

/// Holds what the heaps of a stream share. All of it is used with the GIL.
struct HeapFacts {
    unsigned bug_compat = 0;
    bool keep_ranges = false;
    /// Limits the stream's memory that heaps of Python's keep; further ones are copied out of it.
    std::size_t most_heaps = 0;
    std::size_t most_bytes = 0;
    std::size_t kept_heaps = 0;
    std::size_t kept_bytes = 0;
    std::uint64_t copied_out = 0;              ///< heaps
    std::uint64_t of_one_packet = 0;           ///< heaps
    std::array<pybind11::object, 9> flavours;  ///< by bytes of an address
};

/// Holds a received heap for Python: the library's loan, or a copy of it. Arrays over its items share it.
class ReceivedHeap {
  public:
    /// Takes the heap over, or copies it when Python keeps too many. With the GIL.
    ReceivedHeap(spead::Heap heap, std::shared_ptr<HeapFacts> facts);
    ~ReceivedHeap();
    ReceivedHeap(const ReceivedHeap&) = delete;
    ReceivedHeap& operator=(const ReceivedHeap&) = delete;

    std::uint64_t cnt() const noexcept { return cnt_; }
    /// Returns whether it has no hole.
    bool complete() const noexcept { return complete_; }
    bool sized() const noexcept { return sized_; }
    bool starts() const noexcept { return starts_; }
    bool ends() const noexcept { return ends_; }
    std::uint64_t length() const noexcept { return length_; }
    std::uint64_t received() const noexcept { return received_; }
    unsigned address_bits() const noexcept { return address_bits_; }
    const HeapFacts& facts() const noexcept { return *facts_; }
    HeapFacts& facts() noexcept { return *facts_; }

    /// Returns the items; those with bytes only if they arrived.
    const std::vector<spead::Item>& items();
    /// Returns the bytes of a complete heap.
    std::span<const std::byte> payload() const;
    /// Returns the parts of the payload that arrived.
    std::vector<spead::Heap::Hole> ranges() const;

  private:
    void copy_out();

    std::shared_ptr<HeapFacts> facts_;
    std::uint64_t cnt_, length_, received_;
    unsigned address_bits_;
    bool complete_, sized_, starts_, ends_;
    bool listed_ = false;
    std::size_t block_ = 0;  ///< bytes of the stream's memory that it keeps; 0: none
    spead::Heap heap_;       ///< empty: copied
    std::vector<spead::Item> items_;
    std::vector<spead::Heap::Hole> ranges_;  ///< of a copy
    std::unique_ptr<std::byte[]> copy_;
};

/// Makes the Python object of a heap: a Heap, or an IncompleteHeap. With the GIL.
pybind11::object to_python(spead::Heap heap, const std::shared_ptr<HeapFacts>& facts);

/// Defines heaps and items.
void define_heaps(pybind11::module_& m);

}  // namespace spead::python
