// SPDX-License-Identifier: BSD-3-Clause
#include "wire/descriptor.hpp"

#include <array>
#include <cstring>

#include "base/byte_order.hpp"
#include "wire/items.hpp"
#include "wire/spead.hpp"

namespace spead::wire {
namespace {

using Bytes = std::span<const std::uint8_t>;

/// Holds sizes that depend on flavour and deviations.
struct Widths {
    std::size_t field;      ///< bytes of a format field: type, then number of bits
    std::size_t dimension;  ///< bytes of a dimension: flags, then size
    std::uint8_t variable;  ///< flag of a variable dimension

    Widths(Flavour flavour, unsigned bug_compat)
        : field((bug_compat & kBugCompatDescriptorWidths) != 0 ? 4 : 9 - flavour.address_bytes()),
          dimension((bug_compat & kBugCompatDescriptorWidths) != 0 ? 8 : 1 + flavour.address_bytes()),
          variable((bug_compat & kBugCompatShapeBit1) != 0 ? 2 : 1) {}
};

/// Returns a big-endian number of up to 8 bytes.
std::uint64_t load_number(Bytes bytes) {
    std::uint64_t value = 0;
    for (const std::uint8_t byte : bytes)
        value = value << 8 | byte;
    return value;
}

bool fits(std::uint64_t value, std::size_t bytes) {
    return bytes >= 8 || value >> (8 * bytes) == 0;
}

void append_number(std::vector<std::uint8_t>& out, std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = bytes; i > 0; --i)
        out.push_back(static_cast<std::uint8_t>(value >> (8 * (i - 1))));
}

void append_text(std::vector<std::uint8_t>& out, std::string_view text) {
    out.insert(out.end(), text.begin(), text.end());
}

std::string to_text(Bytes bytes) {
    return {bytes.begin(), bytes.end()};
}

void read_format(Bytes bytes, const Widths& widths, std::vector<FieldFormat>& out) {
    for (; bytes.size() >= widths.field; bytes = bytes.subspan(widths.field))
        out.push_back({static_cast<char>(bytes[0]), load_number(bytes.subspan(1, widths.field - 1))});
}

void read_shape(Bytes bytes, const Widths& widths, std::vector<std::optional<std::uint64_t>>& out) {
    for (; bytes.size() >= widths.dimension; bytes = bytes.subspan(widths.dimension)) {
        if ((bytes[0] & widths.variable) != 0)
            out.push_back(std::nullopt);
        else
            out.push_back(load_number(bytes.subspan(1, widths.dimension - 1)));
    }
}

}  // namespace

std::string_view name_of(DescriptorError error) noexcept {
    static constexpr std::array<std::string_view, static_cast<std::size_t>(DescriptorError::count_)> names{
        "not_a_packet", "incomplete",     "item_past_end",     "no_id",
        "bad_id",       "format_too_big", "dimension_too_big", "too_long"};
    const auto index = static_cast<std::size_t>(error);
    return index < names.size() ? names[index] : "unknown";
}

tl::expected<std::vector<std::uint8_t>, DescriptorError> encode_descriptor(const Descriptor& descriptor,
                                                                           Flavour flavour,
                                                                           unsigned bug_compat) {
    const Widths widths(flavour, bug_compat);
    // An immediate tells the id, so it must also fit there.
    if (descriptor.id == 0 || descriptor.id > flavour.max_id() || descriptor.id > flavour.value_mask())
        return tl::unexpected(DescriptorError::bad_id);

    std::vector<std::uint8_t> format, shape;
    for (const FieldFormat& field : descriptor.format) {
        if (!fits(field.bits, widths.field - 1))
            return tl::unexpected(DescriptorError::format_too_big);
        format.push_back(static_cast<std::uint8_t>(field.type));
        append_number(format, field.bits, widths.field - 1);
    }
    for (const std::optional<std::uint64_t>& dimension : descriptor.shape) {
        if (!fits(dimension.value_or(0), widths.dimension - 1))
            return tl::unexpected(DescriptorError::dimension_too_big);
        shape.push_back(dimension ? 0 : widths.variable);
        append_number(shape, dimension.value_or(0), widths.dimension - 1);
    }
    const std::size_t length = descriptor.name.size() + descriptor.description.size() + format.size() +
                               shape.size() + descriptor.numpy_header.size();
    if (length > flavour.value_mask())
        return tl::unexpected(DescriptorError::too_long);

    const bool numpy = !descriptor.numpy_header.empty();
    const std::size_t n_items = numpy ? 10 : 9;
    std::vector<std::uint8_t> out{kSpeadMagic, kSpeadVersion,
                                  static_cast<std::uint8_t>(8 - flavour.address_bytes()),
                                  static_cast<std::uint8_t>(flavour.address_bytes())};
    out.reserve(kSpeadHeader + kItemPointer * n_items + length);
    append_number(out, n_items, 4);
    const auto immediate = [&](std::uint64_t id, std::uint64_t value) {
        append_number(out, flavour.make_immediate(id, value), kItemPointer);
    };
    std::size_t offset = 0;
    const auto addressed = [&](std::uint64_t id, std::size_t item_length) {
        append_number(out, flavour.make_address(id, offset), kItemPointer);
        offset += item_length;
    };
    immediate(item::kHeapCnt, 1);
    immediate(item::kHeapLength, length);
    immediate(item::kPayloadOffset, 0);
    immediate(item::kPayloadLength, length);
    immediate(item::kDescriptorId, descriptor.id);
    addressed(item::kDescriptorName, descriptor.name.size());
    addressed(item::kDescriptorDescription, descriptor.description.size());
    addressed(item::kDescriptorFormat, format.size());
    addressed(item::kDescriptorShape, shape.size());
    if (numpy)
        addressed(item::kDescriptorDtype, descriptor.numpy_header.size());
    append_text(out, descriptor.name);
    append_text(out, descriptor.description);
    out.insert(out.end(), format.begin(), format.end());
    out.insert(out.end(), shape.begin(), shape.end());
    append_text(out, descriptor.numpy_header);
    return out;
}

tl::expected<Descriptor, DescriptorError> decode_descriptor(std::span<const std::uint8_t> value,
                                                            unsigned bug_compat) {
    SpeadPacket packet;
    if (parse_spead_prefix(value.data(), value.size(), packet) != SpeadError::none)
        return tl::unexpected(DescriptorError::not_a_packet);
    if (packet.payload_offset != 0 ||
        (packet.heap_length != kUnknownLength && packet.heap_length != packet.payload_length))
        return tl::unexpected(DescriptorError::incomplete);
    if (packet.item_extent > packet.payload_length)
        return tl::unexpected(DescriptorError::item_past_end);

    const Flavour flavour(packet.address_bits);
    const Widths widths(flavour, bug_compat);
    const Bytes payload = value.subspan(packet.header_length, packet.payload_length);
    std::vector<std::uint64_t> pointers;
    pointers.reserve(packet.n_items);
    for (std::size_t i = packet.first_item; i < packet.n_items; ++i)
        pointers.push_back(load_pointer(value.data(), i));
    std::vector<ItemView> items;
    list_items(pointers, flavour, payload.size(), items);

    Descriptor out;
    for (const ItemView& view : items) {
        std::array<std::uint8_t, 8> word{};
        store_be64(word.data(), view.value);
        const Bytes bytes = view.immediate ? Bytes(word).last(flavour.address_bytes())
                                           : payload.subspan(view.offset, view.length);
        switch (view.id) {
            case item::kDescriptorId:
                if (view.immediate)
                    out.id = view.value;
                break;
            case item::kDescriptorName:
                out.name = to_text(bytes);
                break;
            case item::kDescriptorDescription:
                out.description = to_text(bytes);
                break;
            case item::kDescriptorFormat:
                read_format(bytes, widths, out.format);
                break;
            case item::kDescriptorShape:
                read_shape(bytes, widths, out.shape);
                break;
            case item::kDescriptorDtype:
                out.numpy_header = to_text(bytes);
                break;
            default:
                break;
        }
    }
    if (out.id == 0)
        return tl::unexpected(DescriptorError::no_id);
    if (!out.numpy_header.empty()) {
        out.shape.clear();
        out.format.clear();
    }
    return out;
}

}  // namespace spead::wire
