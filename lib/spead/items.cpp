// SPDX-License-Identifier: BSD-3-Clause
#include "spead/items.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/empty.hpp"
#include "base/error.hpp"
#include "wire/descriptor.hpp"
#include "wire/flavour.hpp"
#include "wire/item_type.hpp"
#include "wire/value.hpp"

/// Decodes items by their descriptors.
namespace spead {

static_assert(std::endian::native == std::endian::little);

struct DescribedItem::State {
    wire::Descriptor descriptor;
    wire::ItemType type;
    std::vector<ItemField> fields;
    std::uint64_t version = 1;

    std::optional<wire::ItemValue> value;
    std::shared_ptr<const Heap> heap;  ///< in which the value's bytes lie; null: they lie in `own`
    std::vector<std::byte> own;
    std::span<const std::byte> bytes;
};

namespace {

FieldKind kind_from(wire::FieldKind kind) noexcept {
    static_assert(static_cast<int>(FieldKind::text) == static_cast<int>(wire::FieldKind::text) &&
                  static_cast<int>(FieldKind::complex) == static_cast<int>(wire::FieldKind::complex));
    return static_cast<FieldKind>(kind);
}

template <class T>
struct IsComplex : std::false_type {};
template <class F>
struct IsComplex<std::complex<F>> : std::true_type {};

/// Converts a decoded field to a T, if that can hold it.
template <class T>
struct Convert {
    T& to;

    template <std::integral V>
    requires(!std::same_as<V, bool>) bool operator()(V value) const noexcept {
        if constexpr (std::same_as<T, bool> || std::same_as<T, char> || IsComplex<T>::value) {
            return false;
        } else if constexpr (std::is_integral_v<T>) {
            to = static_cast<T>(value);
            return std::in_range<T>(value);
        } else {
            to = static_cast<T>(value);
            return true;
        }
    }
    bool operator()(double value) const noexcept {
        if constexpr (std::is_floating_point_v<T> || IsComplex<T>::value) {
            to = T(static_cast<float_of>(value));
            return true;
        }
        return false;
    }
    bool operator()(bool value) const noexcept {
        if constexpr (std::is_integral_v<T> && !std::same_as<T, char>) {
            to = static_cast<T>(value);
            return true;
        }
        return false;
    }
    bool operator()(const std::complex<double>& value) const noexcept {
        if constexpr (IsComplex<T>::value) {
            to = T(static_cast<float_of>(value.real()), static_cast<float_of>(value.imag()));
            return true;
        }
        return false;
    }
    bool operator()(const std::string& value) const noexcept {
        if constexpr (std::same_as<T, char> || std::same_as<T, std::uint8_t>) {
            if (value.size() == 1) {
                to = static_cast<T>(value[0]);
                return true;
            }
        }
        return false;
    }

  private:
    template <class U>
    struct FloatOf {
        using type = U;
    };
    template <class F>
    struct FloatOf<std::complex<F>> {
        using type = F;
    };

  public:
    using float_of = typename FloatOf<T>::type;
};

/// Returns whether numbers are in whole bytes and in T's form, but for the byte order: most arrays.
template <class T>
bool is_plain(const wire::ItemType& type) noexcept {
    if constexpr (std::same_as<T, bool> || std::same_as<T, char> || IsComplex<T>::value) {
        return false;
    } else {
        const wire::FieldKind kind = std::is_floating_point_v<T> ? wire::FieldKind::floating
                                     : std::is_signed_v<T>       ? wire::FieldKind::signed_integer
                                                                 : wire::FieldKind::unsigned_integer;
        return type.fields.size() == 1 && type.fields[0].kind == kind &&
               type.fields[0].bits == sizeof(T) * 8 && (!type.fortran_order || type.shape.size() < 2);
    }
}

template <class T>
void copy_plain(std::span<const std::byte> bytes, bool swap, std::span<T> out) noexcept {
    if (out.empty())
        return;
    std::memcpy(out.data(), bytes.data(), out.size_bytes());
    if (!swap || sizeof(T) == 1)
        return;
    auto* const raw = reinterpret_cast<unsigned char*>(out.data());
    for (std::size_t i = 0; i < out.size(); i++)
        std::reverse(raw + i * sizeof(T), raw + (i + 1) * sizeof(T));
}

std::span<const std::uint8_t> as_octets(std::span<const std::byte> bytes) noexcept {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

}  // namespace

DescribedItem::DescribedItem(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
DescribedItem::~DescribedItem() = default;

std::uint64_t DescribedItem::id() const noexcept {
    return state_->descriptor.id;
}

const std::string& DescribedItem::name() const noexcept {
    return state_->descriptor.name;
}

const std::string& DescribedItem::description() const noexcept {
    return state_->descriptor.description;
}

const std::vector<std::optional<std::uint64_t>>& DescribedItem::described_shape() const noexcept {
    return state_->type.shape;
}

const std::vector<ItemField>& DescribedItem::fields() const noexcept {
    return state_->fields;
}

std::uint64_t DescribedItem::version() const noexcept {
    return state_->version;
}

bool DescribedItem::has_value() const noexcept {
    return state_->value.has_value();
}

const std::vector<std::uint64_t>& DescribedItem::shape() const noexcept {
    return state_->value ? state_->value->shape() : empty_of<std::vector<std::uint64_t>>();
}

std::uint64_t DescribedItem::elements() const noexcept {
    return state_->value ? state_->value->elements() : 0;
}

std::span<const std::byte> DescribedItem::bytes() const noexcept {
    return state_->bytes;
}

bool DescribedItem::is_native(FieldKind kind, std::size_t bytes, std::size_t alignment) const noexcept {
    const wire::ItemType& type = state_->type;
    if (!state_->value || type.fields.size() != 1)
        return false;
    const wire::Field& field = type.fields[0];
    const bool ordered = !type.fortran_order || type.shape.size() < 2;
    const bool one_byte = field.bits == 8;
    // A boolean in memory is 0 or 1, and what came may be anything.
    return kind != FieldKind::boolean && kind_from(field.kind) == kind && field.bits == bytes * 8 &&
           ordered && (one_byte || field.little_endian) &&
           reinterpret_cast<std::uintptr_t>(state_->bytes.data()) % alignment == 0;
}

bool DescribedItem::may_be(FieldKind kind, std::size_t size, std::size_t field) const noexcept {
    using enum FieldKind;
    if (!state_->value || field >= state_->fields.size())
        return false;
    const bool is_integer = kind == unsigned_integer || kind == signed_integer;
    switch (state_->fields[field].kind) {
        case unsigned_integer:
        case signed_integer:
            return is_integer || kind == floating;
        case boolean:
            return is_integer || kind == boolean;
        case floating:
            return kind == floating || kind == complex;
        case complex:
            return kind == complex;
        case character:
        case FieldKind::bytes:
        case FieldKind::text:
            break;
    }
    return kind == character || (kind == unsigned_integer && size == 1);
}

std::optional<std::string> DescribedItem::text() const {
    const State& s = *state_;
    if (!s.value || s.type.fields.size() != 1)
        return std::nullopt;
    const bool characters = s.type.fields[0].kind == wire::FieldKind::character;
    if (characters && s.value->shape().size() == 1)
        return s.value->text();
    if (s.value->elements() != 1)
        return std::nullopt;
    wire::Scalar scalar = s.value->get(0);
    std::string* const text = std::get_if<std::string>(&scalar);
    return text == nullptr ? std::nullopt : std::optional(std::move(*text));
}

template <class T>
bool DescribedItem::read(std::size_t field, std::span<T> out) const {
    const State& s = *state_;
    if (!s.value || out.size() != s.value->elements() || field >= s.type.fields.size())
        return false;
    if (is_plain<T>(s.type)) {
        copy_plain(s.bytes, !s.type.fields[0].little_endian, out);
        return true;
    }
    for (std::size_t i = 0; i < out.size(); i++)
        if (!std::visit(Convert<T>{out[i]}, s.value->get(i, field)))
            return false;
    return true;
}

template SPEAD_API bool DescribedItem::read(std::size_t, std::span<bool>) const;
template SPEAD_API bool DescribedItem::read(std::size_t, std::span<char>) const;
template SPEAD_API bool DescribedItem::read(std::size_t, std::span<signed char>) const;
template SPEAD_API bool DescribedItem::read(std::size_t, std::span<unsigned char>) const;
template SPEAD_API bool DescribedItem::read(std::size_t, std::span<short>) const;
template SPEAD_API bool DescribedItem::read(std::size_t, std::span<unsigned short>) const;
template SPEAD_API bool DescribedItem::read(std::size_t, std::span<int>) const;
template SPEAD_API bool DescribedItem::read(std::size_t, std::span<unsigned int>) const;
template SPEAD_API bool DescribedItem::read(std::size_t, std::span<long>) const;
template SPEAD_API bool DescribedItem::read(std::size_t, std::span<unsigned long>) const;
template SPEAD_API bool DescribedItem::read(std::size_t, std::span<long long>) const;
template SPEAD_API bool DescribedItem::read(std::size_t, std::span<unsigned long long>) const;
template SPEAD_API bool DescribedItem::read(std::size_t, std::span<float>) const;
template SPEAD_API bool DescribedItem::read(std::size_t, std::span<double>) const;
template SPEAD_API bool DescribedItem::read(std::size_t, std::span<std::complex<float>>) const;
template SPEAD_API bool DescribedItem::read(std::size_t, std::span<std::complex<double>>) const;

struct ItemGroup::State {
    explicit State(std::size_t most) : most_items(most) {}

    DescribedItem::State* find(std::uint64_t id) const noexcept {
        const auto found = by_id.find(id);
        return found == by_id.end() ? nullptr : found->second->state_.get();
    }
    void forget(std::uint64_t id);
    void describe(std::span<const std::byte> bytes);
    bool set(const Item& item, const std::shared_ptr<const Heap>& heap);

    const std::size_t most_items;
    std::map<std::uint64_t, std::unique_ptr<DescribedItem>> by_id;
    std::map<std::string, std::uint64_t, std::less<>> by_name;
    std::uint64_t ignored_values = 0;
    std::uint64_t ignored_descriptors = 0;
};

void ItemGroup::State::forget(std::uint64_t id) {
    const auto found = by_id.find(id);
    if (found == by_id.end())
        return;
    if (const auto name = by_name.find(found->second->name()); name != by_name.end() && name->second == id)
        by_name.erase(name);
    by_id.erase(found);
}

/// Takes a descriptor. Versions continue by id and by name, so that a comparison shows every change.
void ItemGroup::State::describe(std::span<const std::byte> bytes) {
    const auto ignore = [this] { ignored_descriptors++; };
    if (bytes.empty() || bytes.size() > kLongestDescriptor)
        return ignore();
    auto descriptor = wire::decode_descriptor(as_octets(bytes));
    if (!descriptor)
        return ignore();
    const DescribedItem::State* const known = find(descriptor->id);
    if (known != nullptr && known->descriptor == *descriptor)
        return;
    auto type = wire::item_type(*descriptor);
    if (!type || type->shape.size() > kMostDimensions)
        return ignore();

    const auto named = by_name.find(descriptor->name);
    const std::optional<std::uint64_t> other = named == by_name.end() || named->second == descriptor->id
                                                   ? std::nullopt
                                                   : std::optional(named->second);
    if (known == nullptr && !other && by_id.size() >= most_items)
        return ignore();
    std::uint64_t version = 1;
    if (known != nullptr)
        version = known->version + 1;
    if (other)
        version = std::max(version, find(*other)->version + 1);

    auto state = std::make_unique<DescribedItem::State>();
    state->version = version;
    state->type = std::move(*type);
    for (const wire::Field& field : state->type.fields)
        state->fields.push_back({kind_from(field.kind), field.bits});
    state->descriptor = std::move(*descriptor);
    const std::uint64_t id = state->descriptor.id;
    std::string name = state->descriptor.name;
    std::unique_ptr<DescribedItem> item(new DescribedItem(std::move(state)));
    if (other)
        forget(*other);
    forget(id);
    by_name.insert_or_assign(std::move(name), id);
    by_id.insert_or_assign(id, std::move(item));
}

/// Sets a value. Returns false when it is not described, or differs from its descriptor.
bool ItemGroup::State::set(const Item& item, const std::shared_ptr<const Heap>& heap) {
    DescribedItem::State* const s = find(item.id);
    if (s == nullptr)
        return false;
    if (item.immediate) {
        const wire::Flavour flavour(heap->address_bits());
        auto value = wire::decode_value(s->type, flavour, item.value);
        if (!value)
            return false;
        // The bytes at the right of the word.
        const auto size = static_cast<std::size_t>((value->elements() * s->type.element_bits + 7) / 8);
        std::vector<std::byte> own(size);
        for (std::size_t i = 0; i < size; i++)
            own[i] = static_cast<std::byte>(item.value >> (size - 1 - i) * 8);
        s->own = std::move(own);
        s->bytes = s->own;
        s->heap.reset();
        s->value = std::move(*value);
    } else {
        if (item.bytes.empty())
            return false;
        // The value must be there as a whole before the old one goes.
        const bool copied = item.bytes.size() <= kCopied;
        std::vector<std::byte> own;
        if (copied)
            own.assign(item.bytes.begin(), item.bytes.end());
        const std::span<const std::byte> bytes = copied ? std::span<const std::byte>(own) : item.bytes;
        auto value = wire::decode_value(s->type, as_octets(bytes));
        if (!value)
            return false;
        s->own = std::move(own);  // its bytes stay where they are
        s->bytes = bytes.first(std::min(
            bytes.size(), static_cast<std::size_t>((value->elements() * s->type.element_bits + 7) / 8)));
        s->heap = copied ? nullptr : heap;
        s->value = std::move(*value);
    }
    s->version++;
    return true;
}

ItemGroup::ItemGroup(std::size_t most_items) : state_(std::make_unique<State>(most_items)) {}
ItemGroup::ItemGroup(ItemGroup&&) noexcept = default;
ItemGroup& ItemGroup::operator=(ItemGroup&&) noexcept = default;
ItemGroup::~ItemGroup() = default;

std::vector<std::uint64_t> ItemGroup::update(Heap heap) {
    std::vector<std::uint64_t> changed;
    if (!state_)
        throw_usage("items", "the group was moved to another variable; use that one");
    if (!heap)
        return changed;
    const auto kept = std::make_shared<const Heap>(std::move(heap));
    const std::vector<Item> items = kept->items();
    for (const Item& item : items)
        if (item.id == wire::item::kDescriptor && !item.immediate)
            state_->describe(item.bytes);
    for (const Item& item : items) {
        if (item.id == wire::item::kDescriptor || (item.id == wire::item::kStreamCtrl && item.immediate))
            continue;
        if (state_->set(item, kept))
            changed.push_back(item.id);
        else
            state_->ignored_values++;
    }
    return changed;
}

const DescribedItem* ItemGroup::find(std::uint64_t id) const noexcept {
    if (!state_)
        return nullptr;
    const auto found = state_->by_id.find(id);
    return found == state_->by_id.end() ? nullptr : found->second.get();
}

const DescribedItem* ItemGroup::find(std::string_view name) const noexcept {
    if (!state_)
        return nullptr;
    const auto found = state_->by_name.find(name);
    return found == state_->by_name.end() ? nullptr : find(found->second);
}

std::vector<std::uint64_t> ItemGroup::ids() const {
    std::vector<std::uint64_t> all;
    if (!state_)
        return all;
    for (const auto& [id, item] : state_->by_id)
        all.push_back(id);
    return all;
}

std::size_t ItemGroup::size() const noexcept {
    return state_ ? state_->by_id.size() : 0;
}

std::uint64_t ItemGroup::ignored_values() const noexcept {
    return state_ ? state_->ignored_values : 0;
}

std::uint64_t ItemGroup::ignored_descriptors() const noexcept {
    return state_ ? state_->ignored_descriptors : 0;
}

}  // namespace spead
