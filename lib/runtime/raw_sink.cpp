// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/raw_sink.hpp"

#include <utility>

#include "base/error.hpp"
#include "runtime/heap_line.hpp"

namespace spead::runtime {

RawSink::RawSink(const std::vector<std::string>& directories, std::string stream,
                 const sink::RawWriter::Options& options)
    : stream_(std::move(stream)),
      output_(
          directories, stream_, {"heaps", "heaps.jsonl"}, [this](const char* what) { fail(what); }, options) {
}

void RawSink::hand(heap::HeapHandle heap, const Settled& settled) noexcept {
    if (!attempt([&] { add(heap, settled); }))
        settled(false);
}

void RawSink::add(const heap::HeapHandle& heap, const Settled& settled) {
    const std::span<const std::byte> payload =
        keeps_payload(heap) ? heap.payload() : std::span<const std::byte>();
    const auto line = [&](const sink::RawFile* file, std::uint64_t offset) {
        nlohmann::ordered_json json = heap_line(stream_, heap);
        if (file != nullptr) {
            json["file"] = file->name();
            json["payload"] = {{"offset", offset}, {"bytes", payload.size()}};
        }
        return json.dump() + '\n';
    };
    output_.add({&payload, 1}, line, settled);
}

void RawSink::consume(const heap::HeapHandle& heap) {
    bool kept = false;
    add(heap, [&kept](bool k) { kept = k; });
    settle();
    if (!kept)
        throw Error(failure());
}

}  // namespace spead::runtime
