// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

#include "sink/raw_writer.hpp"

namespace spead::runtime {

/// Tells of a writer that has to write with pwrite, and why. `stream`: its name.
void tell_of_pwrite(const sink::RawWriter& writer, const std::string& stream);

/// Returns the hook that tells of a file system without O_DIRECT. `path`: of the files.
std::function<void()> no_direct_notice(std::string stream, std::string path);

}  // namespace spead::runtime
