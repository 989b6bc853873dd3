// SPDX-License-Identifier: BSD-3-Clause
#include "capture/pcap_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"

namespace spead::capture {

namespace {
/// Holds the size of the window, which fits any record.
constexpr std::size_t kWindow = std::size_t{1} << 20;
static_assert(kWindow > kPcapRecordHeader + kPcapMaxRecord);
}  // namespace

PcapReader::PcapReader(const std::string& path, const std::string& where)
    : path_(path), where_(where), window_(kWindow) {
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) {
        throw_error(where, "cannot open the capture file {}: {}", path, std::strerror(errno));
    }
    try {
        struct stat facts {};
        if (::fstat(fd_, &facts) != 0 || !S_ISREG(facts.st_mode)) {
            throw_error(
                where,
                "{} is not a regular file: a capture is read once to be checked and once to be replayed",
                path);
        }
        size_ = static_cast<std::uint64_t>(facts.st_size);
        ::posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
        const auto head = static_cast<std::size_t>(std::min(size_, kPcapHeader));
        header_ = parse_pcap_header({at(0, head), head}, size_, path, where);
    } catch (...) {
        ::close(fd_);
        throw;
    }
}

PcapReader::~PcapReader() {
    if (fd_ >= 0)
        ::close(fd_);
}

PcapReader::PcapReader(PcapReader&& other) noexcept
    : path_(std::move(other.path_)),
      where_(std::move(other.where_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      position_(other.position_),
      records_(other.records_),
      header_(other.header_),
      start_(other.start_),
      filled_(other.filled_),
      window_(std::move(other.window_)) {}

void PcapReader::rewind() noexcept {
    position_ = kPcapHeader;
    records_ = 0;
}

/// Returns the `count` bytes at `offset`; the caller knows that the file has them.
const std::uint8_t* PcapReader::at(std::uint64_t offset, std::size_t count) {
    if (offset < start_ || offset + count > start_ + filled_)
        fill(offset, count);
    return window_.data() + (offset - start_);
}

void PcapReader::fill(std::uint64_t offset, std::size_t least) {
    start_ = offset;
    filled_ = 0;
    while (filled_ < least) {
        const ssize_t n = ::pread(fd_, window_.data() + filled_, window_.size() - filled_,
                                  static_cast<off_t>(start_ + filled_));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            throw_error(where_, "cannot read the capture file {} at byte {}: {}", path_, start_ + filled_,
                        n < 0 ? std::strerror(errno) : "it became shorter");
        filled_ += static_cast<std::size_t>(n);
    }
}

PcapReader::Next PcapReader::next(Record& out) {
    const std::uint64_t left = size_ - position_;
    if (left == 0)
        return Next::end;
    if (left < kPcapRecordHeader)
        return Next::truncated;
    PcapRecordHeader header = parse_pcap_record(at(position_, kPcapRecordHeader), header_);
    if (header.captured > kPcapMaxRecord)
        return Next::damaged;
    if (left - kPcapRecordHeader < header.captured)
        return Next::truncated;
    const std::uint64_t fraction =
        header_.nanoseconds ? header.nanoseconds : header.nanoseconds * std::uint64_t{1000};
    out.at = position_;
    out.time_ns = header.seconds * std::uint64_t{1'000'000'000} + fraction;
    out.data = at(position_, kPcapRecordHeader + header.captured) + kPcapRecordHeader;
    out.length = std::min(header.captured, header_.snap_length);
    out.on_wire = header.on_wire;
    position_ += kPcapRecordHeader + header.captured;
    ++records_;
    return Next::record;
}

}  // namespace spead::capture
