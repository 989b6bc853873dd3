// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/inspect/findings.hpp"
#include "gpu/driver.hpp"

namespace spead::app {

/// Tries what the program needs from NVIDIA's driver and the first GPU, step by step: the driver is found,
/// host memory is registered and copied from and back, and the gather kernel brings every byte of unaligned
/// pieces. A step that fails ends it. `library`: the driver's.
Findings try_gpu(const std::string& library = gpu::Driver::kLibrary);

/// Describes the first GPU, or says why there is none, in a few lines.
std::string gpu_text(const std::string& library = gpu::Driver::kLibrary);
/// Returns the same as an object with the GPU's facts, or with `error`.
nlohmann::ordered_json gpu_document(const std::string& library = gpu::Driver::kLibrary);

}  // namespace spead::app
