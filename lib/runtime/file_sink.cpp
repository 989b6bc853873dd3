// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/file_sink.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/units.hpp"
#include "runtime/heap_items.hpp"

namespace spead::runtime {

namespace {

constexpr std::size_t kFlushAt = 64 * 1024;
constexpr unsigned kMostSuffixes = 1000000;

/// How much could be written, and errno if that is not all.
struct Written {
    std::size_t bytes = 0;
    int error = 0;
};

Written write_all(int fd, const void* data, std::size_t size) {
    const auto* const bytes = static_cast<const char*>(data);
    Written w;
    while (w.bytes != size && w.error == 0) {
        const ssize_t n = ::write(fd, bytes + w.bytes, size - w.bytes);
        if (n >= 0)
            w.bytes += static_cast<std::size_t>(n);
        else if (errno != EINTR)
            w.error = errno;
    }
    return w;
}

nlohmann::ordered_json items_json(const heap::Heap& heap) {
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
    : directory_(std::move(directory)), stream_(std::move(stream)) {
    if (mkdir(directory_.c_str(), 0777) != 0 && errno != EEXIST)
        throw_error(directory_, "cannot make this directory for heaps: {}", std::strerror(errno));
    if (faccessat(AT_FDCWD, (directory_ + '/').c_str(), W_OK | X_OK, AT_EACCESS) != 0)
        throw_error(directory_, "cannot write heaps here: {}", std::strerror(errno));
    lines_path_ = directory_ + "/heaps.jsonl";
    lines_fd_ = open(lines_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (lines_fd_ < 0)
        throw_error(lines_path_, "cannot write heaps here: {}", std::strerror(errno));
}

FileSink::~FileSink() {
    close(lines_fd_);
}

/// The lines of the heaps before are written first, if they can be.
void FileSink::fail(const std::string& path, int error) {
    write_lines();
    throw_error(path, "cannot write: {}; written before that: the payload of {} heaps ({}), {} lines in {}",
                std::strerror(error), files_, human_size(bytes_), lines_written_, lines_path_);
}

void FileSink::consume(const heap::Heap& heap) {
    std::string file;
    if (heap.complete() || (!heap.has_length() && heap.contiguous()))
        file = write_payload(heap);
    add_line(heap, file);
    if (lines_.size() >= kFlushAt)
        flush_lines();
}

std::string FileSink::write_payload(const heap::Heap& heap) {
    const std::string plain = fmt::format("{}-{}", stream_, heap.cnt());
    std::string name = plain + ".bin";
    int fd = -1;
    for (unsigned suffix = 2;; suffix++) {
        fd = open((directory_ + '/' + name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0)
            break;
        if (errno != EEXIST || suffix > kMostSuffixes)
            fail(directory_ + '/' + name, errno);
        name = fmt::format("{}-{}.bin", plain, suffix);
    }
    const std::string path = directory_ + '/' + name;
    int error = write_all(fd, heap.payload().data(), heap.payload().size()).error;
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error != 0) {
        unlink(path.c_str());
        fail(path, error);
    }
    files_++;
    bytes_ += heap.payload().size();
    return name == plain + ".bin" ? std::string() : name;
}

void FileSink::add_line(const heap::Heap& heap, const std::string& file) {
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
    lines_ += line.dump();
    lines_ += '\n';
}

/// Appends the lines that wait. 0, or errno; then the part of a line that was written is cut off again. The
/// lock keeps out other sinks of the file meanwhile.
int FileSink::write_lines() {
    std::string lines;
    lines.swap(lines_);
    flock(lines_fd_, LOCK_EX);
    const Written w = write_all(lines_fd_, lines.data(), lines.size());
    lines.resize(w.bytes);
    const std::size_t whole = lines.rfind('\n') + 1;  // 0 if there is none
    int error = w.error;
    if (whole != w.bytes &&
        ftruncate(lines_fd_, lseek(lines_fd_, 0, SEEK_END) - static_cast<off_t>(w.bytes - whole)) != 0)
        error = errno;
    flock(lines_fd_, LOCK_UN);
    lines_written_ += static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
    return error;
}

void FileSink::flush_lines() {
    if (const int error = write_lines(); error != 0)
        fail(lines_path_, error);
}

void FileSink::finish() {
    flush_lines();
}

}  // namespace spead::runtime
