// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/file_sink.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <span>
#include <unistd.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/open_output.hpp"
#include "base/units.hpp"
#include "runtime/heap_items.hpp"

namespace spead::runtime {

namespace {

constexpr unsigned kMostSuffixes = 1000000;

/// Writes all bytes. Returns 0, or errno.
int write_all(int fd, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n >= 0)
            bytes = bytes.subspan(static_cast<std::size_t>(n));
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

/// Opens the directory of the files.
FileDescriptor open_directory(const std::string& path) {
    OpenedOutput directory = open_output_directory(path, true);
    if (!directory.file)
        throw_error(path, "cannot make this directory for heaps: {}", directory.reason);
    if (faccessat(directory.file.get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
        throw_error(path, "cannot write heaps here: {}", std::strerror(errno));
    return std::move(directory.file);
}

nlohmann::ordered_json items_json(const heap::HeapHandle& heap) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const wire::ItemView& i : items_of(heap)) {
        if (i.immediate)
            list.push_back({{"id", i.id}, {"immediate", i.value}});
        else
            list.push_back({{"id", i.id}, {"offset", i.offset}, {"length", i.length}});
    }
    return list;
}

}  // namespace

FileSink::FileSink(std::string directory, std::string stream)
    : directory_path_(std::move(directory)),
      stream_(std::move(stream)),
      directory_(open_directory(directory_path_)),
      lines_(directory_.get(), "heaps.jsonl", lines_path(directory_path_),
             fmt::format("the sink of {} writes", stream_), fmt::format("sink of {}", stream_)) {}

void FileSink::fail(const std::string& path, int error) const {
    throw_error(path, "cannot write: {}; written before that: the payload of {} heaps ({}), {} lines in {}",
                std::strerror(error), files_, human_size(bytes_), lines_.lines(),
                lines_path(directory_path_));
}

void FileSink::consume(const heap::HeapHandle& heap) {
    std::string file;
    if (heap.complete() || (!heap.has_length() && heap.contiguous()))
        file = write_payload(heap);
    if (const int error = lines_.append(line_of(heap, file)); error != 0)
        fail(lines_path(directory_path_), error);
}

/// Writes the payload. Returns the file's name if it is not the plain one.
std::string FileSink::write_payload(const heap::HeapHandle& heap) {
    const std::string plain = fmt::format("{}-{}", stream_, heap.cnt());
    std::string name = plain + ".bin";
    FileDescriptor file;
    for (unsigned suffix = 2;; suffix++) {
        // O_EXCL follows no link.
        file = FileDescriptor(
            openat(directory_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (file)
            break;
        if (errno != EEXIST || suffix > kMostSuffixes)
            fail(directory_path_ + '/' + name, errno);
        name = fmt::format("{}-{}.bin", plain, suffix);
    }
    int error = write_all(file.get(), heap.payload());
    if (close(file.release()) != 0 && error == 0)
        error = errno;
    if (error != 0) {
        unlinkat(directory_.get(), name.c_str(), 0);
        fail(directory_path_ + '/' + name, error);
    }
    files_++;
    bytes_ += heap.payload().size();
    return name == plain + ".bin" ? std::string() : name;
}

std::string FileSink::line_of(const heap::HeapHandle& heap, const std::string& file) const {
    nlohmann::ordered_json line;
    line["stream"] = stream_;
    line["cnt"] = heap.cnt();
    line["complete"] = heap.complete();
    line["length"] =
        heap.has_length() ? nlohmann::ordered_json(heap.length()) : nlohmann::ordered_json(nullptr);
    line["received"] = heap.received();
    if (heap.last_time() != 0)
        line["arrival"] = {{"first_ns", heap.first_time()}, {"last_ns", heap.last_time()}};
    line["missing"] = nlohmann::ordered_json::array();
    for (const heap::Range& r : heap.missing())
        line["missing"].push_back({r.begin, r.end});
    line["items"] = items_json(heap);
    if (!heap.complete())
        line["end"] = name_of(heap.end());
    if (heap.item_past_end())
        line["item_past_end"] = true;
    if (!file.empty())
        line["file"] = file;
    return line.dump() + '\n';
}

}  // namespace spead::runtime
