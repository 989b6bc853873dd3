// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/file_sink.hpp"

#include <cstring>
#include <span>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "runtime/heap_line.hpp"

namespace spead::runtime {

FileSink::FileSink(std::string directory, std::string stream)
    : stream_(std::move(stream)),
      directory_(std::move(directory), "heaps"),
      lines_(directory_.descriptor(), "heaps.jsonl", lines_path(directory_.path()),
             fmt::format("the sink of {} writes", stream_), fmt::format("sink of {}", stream_)) {}

void FileSink::fail(const std::string& path, int error) const {
    throw_error(path, "cannot write: {}; written before that: the payload of {} ({}), {} in {}",
                std::strerror(error), counted(files_, "heaps"), human_size(bytes_),
                counted(lines_.lines(), "lines"), lines_path(directory_.path()));
}

void FileSink::consume(const heap::HeapHandle& heap) {
    std::string file;
    if (keeps_payload(heap))
        file = write_payload(heap);
    if (const int error = lines_.append(line_of(heap, file)); error != 0)
        fail(lines_path(directory_.path()), error);
}

/// Writes the payload. Returns the file's name if it is not the plain one.
std::string FileSink::write_payload(const heap::HeapHandle& heap) {
    const std::string plain = fmt::format("{}-{}", stream_, heap.cnt());
    const std::span<const std::byte> payload = heap.payload();
    const OutputDirectory::Written file = directory_.write_new(plain, {&payload, 1});
    if (file.error != 0)
        fail(directory_.path() + '/' + file.name, file.error);
    files_++;
    bytes_ += payload.size();
    return file.name == plain + ".bin" ? std::string() : file.name;
}

std::string FileSink::line_of(const heap::HeapHandle& heap, const std::string& file) const {
    nlohmann::ordered_json line = heap_line(stream_, heap);
    if (!file.empty())
        line["file"] = file;
    return line.dump() + '\n';
}

}  // namespace spead::runtime
