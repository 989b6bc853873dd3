// SPDX-License-Identifier: BSD-3-Clause
#include "capture/pcap_series.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/open_output.hpp"
#include "capture/pcap_format.hpp"

namespace spead::capture {

namespace {

PcapRecordHeader header_at(std::span<const std::byte> records, std::size_t at) {
    PcapRecordHeader header;
    std::memcpy(&header, records.data() + at, sizeof header);
    return header;
}

}  // namespace

PcapSeries::PcapSeries(const std::string& path, const Options& options, const std::string& where)
    : path_(path),
      where_(where),
      rotate_size_(options.rotate_size),
      rotate_ns_(static_cast<std::uint64_t>(options.rotate_seconds * 1e9)),
      snap_length_(options.snap_length),
      direct_(options.direct_io) {
    open_next();
    if (!failure_.empty())
        throw_error(where, "cannot write the capture file {}: {}", path_, failure_);
}

std::string PcapSeries::numbered(const std::string& path, std::uint64_t number) {
    const std::filesystem::path p(path);
    return (p.parent_path() / fmt::format("{}-{:05}{}", p.stem().string(), number, p.extension().string()))
        .string();
}

std::string PcapSeries::first_name(const std::string& path, const Options& options) {
    return options.rotates() ? numbered(path, 0) : path;
}

std::vector<std::string> PcapSeries::later_files(const std::string& path) {
    namespace fs = std::filesystem;
    const fs::path p(path);
    const std::string stem = p.stem().string() + '-';
    std::map<std::uint64_t, std::string> found;
    std::error_code error;
    const fs::path directory = p.has_parent_path() ? p.parent_path() : fs::path(".");
    for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
        const std::string name = at->path().filename().string();
        std::uint64_t number = 0;
        if (name.starts_with(stem))
            std::from_chars(name.data() + stem.size(), name.data() + name.size(), number);
        if (number != 0 && fs::path(numbered(path, number)).filename() == name)
            found[number] = numbered(path, number);
    }
    std::vector<std::string> names;
    for (auto& [number, name] : found)
        names.push_back(std::move(name));
    return names;
}

void PcapSeries::open_next() {
    file_ = std::make_unique<OutputFile>(rotates() ? numbered(path_, number_) : path_, direct_, where_);
    ++number_;
    packets_ = first_ns_ = 0;
    safe_ = begun_ = {kPcapHeader, 0};
    const auto header = pcap_file_header(snap_length_);
    if (!file_->append(header))
        give_up();
}

bool PcapSeries::next_file() {
    if (!file_->close()) {
        give_up();
        return false;
    }
    closed_.packets += packets_;
    closed_.bytes += file_->size();
    closed_.files.push_back(file_->take_use());
    try {
        open_next();
    } catch (const Error& error) {
        file_.reset();
        packets_ = 0;
        failure_ = error.what();
    }
    return failure_.empty();
}

bool PcapSeries::append(std::span<const std::byte> records, std::uint32_t packets) {
    begun_ = {file_->size(), packets_};
    packets_ += packets;
    if (!file_->append(records)) {
        give_up();
        return false;
    }
    if (file_->written() >= begun_.at)
        safe_ = begun_;
    return true;
}

/// Ends the file after the last whole record, and counts the records before.
void PcapSeries::give_up() {
    failure_ = file_->failure();
    if (file_->written() < kPcapHeader) {
        // Not even its head: the file would be unreadable.
        remove_output(file_->path(), file_->descriptor());
        packets_ = 0;
        file_.reset();
        return;
    }
    file_->cut(file_->written());
    std::uint64_t at = safe_.at;
    std::uint64_t kept = safe_.packets;
    for (PcapRecordHeader header; at + sizeof header <= file_->written();) {
        if (::pread(file_->descriptor(), &header, sizeof header, static_cast<off_t>(at)) != sizeof header ||
            at + sizeof header + header.captured > file_->written())
            break;
        at += sizeof header + header.captured;
        ++kept;
    }
    file_->cut(at);
    packets_ = kept;
    file_->close();
}

bool PcapSeries::write(std::span<const std::byte> records, std::uint32_t packets) {
    if (!failure_.empty())
        return false;
    if (!rotates())
        return append(records, packets);
    std::size_t begin = 0;
    std::uint32_t pending = 0;
    for (std::size_t at = 0; at < records.size();) {
        const PcapRecordHeader header = header_at(records, at);
        const std::size_t length = sizeof header + header.captured;
        const bool first = packets_ + pending == 0;
        const bool full = rotate_size_ != 0 && file_->size() + (at - begin) + length > rotate_size_;
        const bool old = rotate_ns_ != 0 && header.time_ns() >= first_ns_ + rotate_ns_;
        if (!first && (full || old)) {
            if (!append(records.subspan(begin, at - begin), pending) || !next_file())
                return false;
            begin = at;
            pending = 0;
        }
        if (packets_ + pending == 0)
            first_ns_ = header.time_ns();
        at += length;
        ++pending;
    }
    return append(records.subspan(begin), pending);
}

bool PcapSeries::finish() {
    if (file_ && failure_.empty() && !file_->close())
        give_up();
    return failure_.empty();
}

}  // namespace spead::capture
