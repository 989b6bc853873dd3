// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/gpu_steps.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/bench/gpu_facts.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "gpu/gatherer.hpp"
#include "gpu/objects.hpp"
#include "gpu/registered.hpp"
#include "memory/mapping.hpp"

namespace spead::app {

namespace {

constexpr std::size_t kTried = std::size_t{2} << 20;  ///< bytes of each memory
constexpr std::size_t kPieces = 256;
constexpr std::uint32_t kLongestPiece = 3000;

/// Holds what the steps try: host memory whose second half gets what comes back, and memory of the GPU.
struct TriedGpu {
    explicit TriedGpu(const gpu::ContextPointer& c)
        : context(c),
          host(2 * kTried),
          registered(c, host.base(), host.length()),
          device(c, kTried),
          stream(c) {
        std::minstd_rand random(1);
        std::generate_n(host.base(), kTried, [&random] { return static_cast<std::byte>(random()); });
    }
    /// Fetches the GPU's memory, and returns it.
    const std::byte* fetched() {
        std::byte* const back = host.base() + kTried;
        stream.download(back, device.address(), kTried);
        stream.finish();
        return back;
    }

    gpu::ContextPointer context;
    memory::Mapping host;
    gpu::Registered registered;
    gpu::DeviceMemory device;
    gpu::Stream stream;
};

std::string copied(TriedGpu& tried) {
    tried.stream.upload(tried.device.address(), tried.host.base(), kTried);
    if (std::memcmp(tried.fetched(), tried.host.base(), kTried) != 0)
        throw Error("GPU",
                    "memory that went to the GPU and back is not the same; run `bench gpu`, and look for "
                    "errors of the GPU (nvidia-smi -q, the kernel's log)");
    return fmt::format("{} registered; to the GPU and back, no byte wrong", human_size(tried.host.length()));
}

/// Gathers pieces of random lengths and alignments, and compares all of the GPU's memory.
std::string gathered(TriedGpu& tried) {
    if (!tried.context->facts().same_host_pointer)
        throw Error("GPU",
                    "it has addresses of its own for registered memory, and the engine `cuda` lists "
                    "packets by the CPU's; use chunks with `memory = \"cuda_pinned\"`");
    const gpu::Gatherer gatherer(tried.context);
    memory::Mapping list(kPieces * sizeof(gather::Piece));
    const gpu::Registered listed(tried.context, list.base(), list.length());
    auto* const pieces = reinterpret_cast<gather::Piece*>(list.base());
    std::vector<std::byte> expected(kTried, std::byte{0});
    std::minstd_rand random(2);
    std::size_t at = 0;
    for (std::size_t i = 0; i < kPieces; i++) {
        const auto length = static_cast<std::uint32_t>(1 + random() % kLongestPiece);
        const std::size_t from = random() % (kTried - length);
        at += random() % 7;
        new (&pieces[i]) gather::Piece{tried.host.base() + from,
                                       std::bit_cast<std::byte*>(tried.device.address() + at), length, 0};
        std::copy_n(tried.host.base() + from, length, expected.begin() + static_cast<std::ptrdiff_t>(at));
        at += length;
    }
    tried.stream.fill(tried.device.address(), std::byte{0}, kTried);
    gatherer.gather(tried.stream, {pieces, kPieces}, listed.address_of(pieces));
    if (std::memcmp(tried.fetched(), expected.data(), kTried) != 0)
        throw Error("GPU",
                    "a gathered piece is wrong; run `bench gpu`, and report it with the driver's version");
    return fmt::format("{} pieces by {}, no byte wrong", kPieces,
                       gatherer.way() == gpu::Gatherer::Way::kernel
                           ? "the kernel"
                           : "the copy engine: this program was built without kernels (clang)");
}

/// Opens the first GPU. Throws Error.
gpu::ContextPointer open_gpu(const std::string& library) {
    return gpu::Context::open(gpu::Driver::load(library));
}

}  // namespace

Findings try_gpu(const std::string& library) {
    Findings found;
    const char* subject = "GPU driver";
    try {
        const gpu::ContextPointer context = open_gpu(library);
        std::string text = describe(gpu_facts(*context));
        if (const std::size_t line = text.find('\n'); line != text.npos)
            text.replace(line, 1, "; ");
        found.push_back({Verdict::ok, subject, std::move(text), {}});
        subject = "GPU memory";
        TriedGpu tried(context);
        found.push_back({Verdict::ok, subject, copied(tried), {}});
        subject = "GPU gather";
        found.push_back({Verdict::ok, subject, gathered(tried), {}});
    } catch (const Error& error) {
        found.push_back({Verdict::fail, subject, error.what(), {}});
    }
    return found;
}

std::string gpu_text(const std::string& library) {
    try {
        return describe(gpu_facts(*open_gpu(library)));
    } catch (const Error& error) {
        return fmt::format("none is used: {}", error.what());
    }
}

nlohmann::ordered_json gpu_document(const std::string& library) {
    try {
        return to_json(gpu_facts(*open_gpu(library)));
    } catch (const Error& error) {
        return {{"error", error.what()}};
    }
}

}  // namespace spead::app
