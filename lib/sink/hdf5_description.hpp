// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sink/array_layout.hpp"

namespace spead::sink {

/// Describes a data set of an HDF5 file whose elements lie in a file of their own, one after another.
struct Hdf5DataSet {
    struct Axis {
        std::string name;
        std::uint64_t length = 0;
    };
    /// Describes a member of an element.
    struct Member {
        std::string name;
        ElementType type;
    };

    std::string name;
    std::string file;             ///< without its directory
    std::vector<Axis> axes;       ///< outermost first
    std::vector<Member> members;  ///< one without a name: elements are plain

    /// Returns the bytes of all elements.
    std::uint64_t bytes() const noexcept {
        std::uint64_t all = 0;
        for (const Member& member : members)
            all += member.type.bytes;
        for (const Axis& axis : axes)
            all *= axis.length;
        return all;
    }
};

/// Returns whether this build can make HDF5 files.
bool has_hdf5() noexcept;

/// Returns the bytes of an HDF5 file with these data sets, whose content is elsewhere, and with texts as
/// attributes of the file. Reads and writes no file. Throws Error when the library fails, or is missing.
std::vector<std::byte> hdf5_description(const std::vector<Hdf5DataSet>& sets,
                                        const std::vector<std::pair<std::string, std::string>>& attributes);

}  // namespace spead::sink
