// SPDX-License-Identifier: BSD-3-Clause
#include "gather/engine.hpp"

#include <string>

#include "base/error.hpp"

namespace spead::gather {

std::shared_ptr<const memory::Region> Engine::allocate_packets(std::size_t bytes) {
    throw_error("engine " + std::string(name()),
                "it has no memory of a device, and {} bytes are needed for packets that a port splits; set "
                "`gather` (--heap-memory) to an engine that has such memory, or leave out `split`",
                bytes);
}

std::byte* Engine::writable(const memory::Region&) noexcept {
    return nullptr;
}

}  // namespace spead::gather
