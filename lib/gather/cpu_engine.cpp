// SPDX-License-Identifier: BSD-3-Clause
#include "gather/cpu_engine.hpp"

#include <algorithm>
#include <cstring>

#include "memory/mapping.hpp"

namespace spead::gather {

namespace {

class CpuMover final : public Mover {
    void move(const Batch& batch) override {
        for (std::uint32_t i = 0; i < batch.piece_count; i++) {
            const Piece& piece = batch.pieces[i];
            std::memcpy(piece.to, piece.from, piece.length);
        }
    }
};

struct MappedRegion {
    explicit MappedRegion(std::size_t bytes)
        : mapping(bytes), region{mapping.base(), mapping.length(), memory::MemoryKind::host, -1} {}

    memory::Mapping mapping;
    memory::Region region;
};

}  // namespace

CpuEngine::CpuEngine(const std::vector<unsigned>& cpus)
    : ThreadedEngine(std::make_shared<CpuMover>(), cpus) {}

std::shared_ptr<const memory::Region> CpuEngine::allocate(std::size_t bytes) {
    auto made = std::make_shared<MappedRegion>(bytes);
    const std::shared_ptr<const memory::Region> region(made, &made->region);
    keep(region);
    return region;
}

void CpuEngine::fetch(const std::byte* from, std::span<std::byte> to) {
    std::copy_n(from, to.size(), to.begin());
}

}  // namespace spead::gather
