// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a descriptor and as the value that it describes.

#include <algorithm>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "wire/descriptor.hpp"
#include "wire/item_type.hpp"
#include "wire/numpy_header.hpp"
#include "wire/value.hpp"

namespace {

using namespace spead;
using namespace spead::wire;
using fuzz::ExactCopy;
using fuzz::Input;
using fuzz::require;

void check_value(const ItemType& type, std::span<const std::uint8_t> bytes) {
    const ExactCopy data(bytes);
    const auto value = decode_value(type, {data.data(), data.size()});
    if (!value) {
        return;
    }
    const std::uint64_t elements = value->elements();
    require(elements == 0 || elements <= std::uint64_t{8} * data.size() / type.element_bits,
            "every element has its bits");
    // The first, the last and some between; all of a large one would take its time and show nothing new.
    for (std::uint64_t element = 0; element < elements; element += 1 + elements / 16) {
        for (std::size_t field = 0; field < std::min<std::size_t>(type.fields.size(), 8); ++field) {
            static_cast<void>(to_string(value->get(element, field)));
        }
    }
    if (elements > 0) {
        static_cast<void>(value->get(elements - 1, type.fields.size() - 1));
    }
    static_cast<void>(value->text());
}

void check_numpy_header(const std::string& text) {
    const auto header = parse_numpy_header(text);
    if (header) {
        const auto again = parse_numpy_header(to_string(*header));
        require(again.has_value() && *again == *header, "a numpy header survives being written and read");
    }
}

}  // namespace

std::vector<Input> fuzz::seeds() {
    const Descriptor descriptors[] = {
        {.id = 0x1000, .name = "data", .description = "a word", .shape = {}, .format = {{'u', 32}}},
        {.id = 0x1001,
         .name = "pairs",
         .description = "",
         .shape = {4, std::nullopt},
         .format = {{'i', 12}, {'f', 64}}},
        {.id = 0x1002,
         .name = "array",
         .description = "of numpy",
         .numpy_header = "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3)}"},
        {.id = 0x1003,
         .name = "complex",
         .description = "in Fortran's order",
         .numpy_header = "{'shape': (3, 5), 'fortran_order': True, 'descr': '>c8'}"},
        {.id = 0x1004, .name = "text", .description = "", .shape = {std::nullopt}, .format = {{'c', 8}}},
    };
    std::vector<Input> inputs;
    for (const Descriptor& descriptor : descriptors) {
        for (const unsigned bits : {40U, 48U}) {
            for (const unsigned compatibility : {0U, kBugCompatPySpead052}) {
                const auto bytes = encode_descriptor(descriptor, Flavour(bits), compatibility);
                require(bytes.has_value(), "the seeds are good descriptors");
                Input input = {static_cast<std::uint8_t>(compatibility)};
                input.insert(input.end(), bytes->begin(), bytes->end());
                inputs.push_back(input);
            }
        }
    }
    return inputs;
}

/// Reads the bug compatibility from the first byte; the others are the descriptor, and also the value.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const unsigned compatibility = data[0] & kBugCompatPySpead052;
    const std::span<const std::uint8_t> bytes(data + 1, size - 1);
    check_numpy_header(std::string(bytes.begin(), bytes.end()));

    const ExactCopy value(bytes);
    const auto descriptor = decode_descriptor({value.data(), value.size()}, compatibility);
    if (!descriptor) {
        return 0;
    }
    check_numpy_header(descriptor->numpy_header);
    if (const auto encoded = encode_descriptor(*descriptor, Flavour(40), compatibility)) {
        const auto again = decode_descriptor(*encoded, compatibility);
        require(again.has_value() && *again == *descriptor, "a descriptor survives being written and read");
    }
    if (const auto type = item_type(*descriptor, compatibility)) {
        check_value(*type, bytes);
        static_cast<void>(decode_value(*type, Flavour(48), 0x123456789ABC));
    }
    return 0;
}
