// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <spead/recv.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace spead {

/// Names the kind of a field of an item's elements.
enum class FieldKind : std::uint8_t {
    unsigned_integer,  ///< 1 to 64 bits
    signed_integer,    ///< 1 to 64 bits
    floating,          ///< 32 or 64 bits
    complex,           ///< two floats: 64 or 128 bits
    boolean,           ///< 1 to 64 bits
    character,         ///< one byte
    bytes,             ///< a string of bytes
    text               ///< a string of UTF-32
};

struct ItemField {
    FieldKind kind{};
    std::uint64_t bits = 0;
};

/// Holds an item that a descriptor has described, with its latest value. Lives in its ItemGroup.
///
/// Elements are counted in row-major order, the last index fastest, however the sender arranged them.
class SPEAD_API DescribedItem {
  public:
    DescribedItem(const DescribedItem&) = delete;
    DescribedItem& operator=(const DescribedItem&) = delete;
    ~DescribedItem();

    std::uint64_t id() const noexcept;
    const std::string& name() const noexcept;  ///< any bytes; ASCII by convention
    const std::string& description() const noexcept;
    /// Returns the dimensions as described: none for one that varies.
    const std::vector<std::optional<std::uint64_t>>& described_shape() const noexcept;
    /// Returns the fields of each element, usually one.
    const std::vector<ItemField>& fields() const noexcept;

    /// Returns 1 and one more for each received value. An item that is described again begins higher than
    /// those that it replaces.
    std::uint64_t version() const noexcept;
    bool has_value() const noexcept;

    // These describe the value; empty, or 0, without one.

    const std::vector<std::uint64_t>& shape() const noexcept;
    std::uint64_t elements() const noexcept;  ///< product of the shape; 1 for a scalar
    /// Returns the bytes as received; for an immediate, those that the item takes.
    std::span<const std::byte> bytes() const noexcept;

    /// Returns a scalar as a T: an integer type, float, double, bool, char or std::complex of float or
    /// double. Empty: no value, more than one element, or it does not fit.
    template <class T>
    std::optional<T> as(std::size_t field = 0) const {
        T value{};
        if (elements() != 1 || !read(field, std::span<T>(&value, 1)))
            return std::nullopt;
        return value;
    }
    /// Returns all elements, decoded. Empty: no value, or one of them does not fit a T. Integers fit every
    /// integer type that can hold their value, and float and double; floats fit float, double and
    /// complex types. Throws std::bad_alloc when there is no memory for elements() of them.
    template <class T>
    std::optional<std::vector<T>> array(std::size_t field = 0) const {
        static_assert(!std::is_same_v<T, bool>, "std::vector<bool> is no array; ask for std::uint8_t");
        if (!may_be(kind_of<T>(), sizeof(T), field))
            return std::nullopt;
        std::vector<T> values(static_cast<std::size_t>(elements()));
        if (!read(field, std::span<T>(values)))
            return std::nullopt;
        return values;
    }
    /// Returns the elements without a copy, if they have the form of this machine's array of T: one field of
    /// T's kind, width and byte order, aligned, in row-major order. Empty otherwise: call array().
    template <class T>
    std::span<const T> view() const noexcept {
        if (!is_native(kind_of<T>(), sizeof(T), alignof(T)))
            return {};
        return {reinterpret_cast<const T*>(bytes().data()), static_cast<std::size_t>(elements())};
    }
    /// Returns characters or a string: a one-dimensional array of characters, or one element of `character`,
    /// `bytes` (as they are) or `text` (as UTF-8). Empty for any other.
    std::optional<std::string> text() const;

    /// Decodes all elements into `out`, which has room for elements() of them. Returns false, with `out`
    /// undefined, when there is no value, another size, no such field, or an element does not fit a T.
    template <class T>
    bool read(std::size_t field, std::span<T> out) const;

    struct State;

  private:
    friend class ItemGroup;
    explicit DescribedItem(std::unique_ptr<State> state) noexcept;

    template <class T>
    static constexpr FieldKind kind_of() noexcept {
        if constexpr (std::is_same_v<T, bool>)
            return FieldKind::boolean;
        else if constexpr (std::is_same_v<T, char>)
            return FieldKind::character;
        else if constexpr (std::is_floating_point_v<T>)
            return FieldKind::floating;
        else if constexpr (std::is_integral_v<T>)
            return std::is_signed_v<T> ? FieldKind::signed_integer : FieldKind::unsigned_integer;
        else
            return FieldKind::complex;
    }
    bool is_native(FieldKind kind, std::size_t bytes, std::size_t alignment) const noexcept;
    /// Returns whether there is a value, and some value of the field fits a type of that kind and size.
    bool may_be(FieldKind kind, std::size_t size, std::size_t field) const noexcept;

    std::unique_ptr<State> state_;
};

/// Remembers the descriptors in heaps, and the latest values of the items that they describe.
///
/// One thread at a time. Senders may send anything: invalid items are left out and counted, and memory is in
/// proportion to the received data, within the limits below.
class SPEAD_API ItemGroup {
  public:
    /// Makes a group. `most_items`: descriptors beyond that many items are ignored.
    explicit ItemGroup(std::size_t most_items = 4096);
    ItemGroup(ItemGroup&&) noexcept;
    ItemGroup& operator=(ItemGroup&&) noexcept;
    ~ItemGroup();

    /// Takes the descriptors and then the values from a heap. Returns the ids that have a new value, in the
    /// order of Heap::items(). An item of more than kCopied bytes keeps the heap, and with it the memory of
    /// its stream, until its next value.
    ///
    /// A descriptor that repeats known facts changes nothing. One that differs for an id, or gives its name
    /// to another id, replaces that item; the new one has no value, and its version is
    /// higher. Throws UsageError for a group that was moved from, which otherwise is empty.
    std::vector<std::uint64_t> update(Heap heap);

    /// Returns the item, by id or by name; null if there is none. Valid until update() replaces it.
    const DescribedItem* find(std::uint64_t id) const noexcept;
    const DescribedItem* find(std::string_view name) const noexcept;
    /// Returns all ids, ascending.
    std::vector<std::uint64_t> ids() const;
    std::size_t size() const noexcept;

    /// Returns the number of ignored items of heaps: not described, invalid, or incomplete; the next: of
    /// descriptors likewise, or beyond the limits.
    std::uint64_t ignored_values() const noexcept;
    std::uint64_t ignored_descriptors() const noexcept;

    static constexpr std::size_t kCopied = 1024;  ///< bytes
    static constexpr std::size_t kMostDimensions = 64;
    static constexpr std::size_t kLongestDescriptor = 1U << 16;  ///< bytes

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace spead
