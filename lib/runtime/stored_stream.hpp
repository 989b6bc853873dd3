// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/flavour.hpp"

namespace spead::runtime {

/// Describes a heap that a sink has written.
struct StoredHeap {
    struct Item {
        std::uint64_t id = 0;
        bool immediate = false;
        std::uint64_t value = 0;   ///< of an immediate
        std::uint64_t offset = 0;  ///< in the payload
        std::uint64_t length = 0;
    };
    std::string where{};  ///< for errors: "the heap of line 7"
    std::string stream{};
    std::uint64_t cnt = 0;
    std::optional<std::uint64_t> endpoint{};  ///< the one that it came to, if the placement says so
    std::vector<Item> items{};                ///< addressed ones by offset, without overlaps; then immediates
    std::string file{};                       ///< in the directory; empty: it has no payload
    std::uint64_t line = 0;                   ///< of the index, from 1
    std::uint64_t offset = 0;                 ///< of the payload in the file
    std::uint64_t bytes = 0;                  ///< of the payload
};

/// Refuses an item, heap count or length that packets of this flavour have no bits for. Throws IndexFault.
void check_bits(const StoredHeap& heap, wire::Flavour flavour);

/// Reads the heaps of a stream that a sink has written, one after another. What it reads is hostile. One
/// thread at a time.
class StoredStream {
  public:
    /// Limits the payload of a heap.
    static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;

    /// Returns what a sink wrote to `from`: a directory or file, which `file:`, `raw:` or `zarr:` may precede
    /// as in --sink. The heaps are for a sender of this flavour. Throws Error when nothing is there.
    static std::unique_ptr<StoredStream> open(const std::string& from, wire::Flavour flavour);
    /// Returns `from` without the name of a sink: a path.
    static std::string path_of(const std::string& from);
    /// Returns the file that describes the heaps, or is to.
    static std::string index_path(const std::string& from);

    virtual ~StoredStream() = default;

    /// Sums up the heaps.
    struct Sum {
        std::uint64_t heaps = 0;
        std::uint64_t incomplete = 0;  ///< heaps that are left out
        std::uint64_t largest = 0;     ///< bytes of a payload
        std::string stream{};
    };
    /// Looks at all heaps, and rewinds. Throws Error for the first fault.
    virtual Sum check() = 0;
    /// Returns whether there is a next complete heap, and which. Throws Error as check().
    virtual bool next(StoredHeap& heap) = 0;
    /// Goes back to the beginning.
    virtual void rewind() = 0;
    /// Reads the payload of the heap that next() found last. `to` has its bytes. Throws Error.
    virtual void read(const StoredHeap& heap, std::span<std::byte> to) = 0;
    /// Says for people why `Sum::incomplete` heaps are left out.
    virtual std::string left_out(const Sum& sum) const = 0;
};

}  // namespace spead::runtime
