// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string_view>

namespace spead::wire {

/// Holds a format that comes with the program.
struct KnownFormat {
    std::string_view name;
    std::string_view text;    ///< for PacketFormat::parse()
    std::string_view about;   ///< one line for people
    std::string_view source;  ///< the layout was read there; none was compared with packets of a telescope
};

std::span<const KnownFormat> known_formats() noexcept;
/// Returns null for an unknown name.
const KnownFormat* find_format(std::string_view name) noexcept;

}  // namespace spead::wire
