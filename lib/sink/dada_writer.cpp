// SPDX-License-Identifier: BSD-3-Clause
#include "sink/dada_writer.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <exception>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/error.hpp"

namespace spead::sink {

namespace {

constexpr std::uint64_t kUsualFile = std::uint64_t{1} << 30;

std::string utc_text(std::chrono::system_clock::time_point time) {
    return fmt::format("{:%Y-%m-%d-%H:%M:%S}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

}  // namespace

DadaWriter::DadaWriter(Options options)
    : options_(std::move(options)),
      data_(options_.key, fmt::format("PSRDADA ring {:x}", options_.key)),
      headers_(options_.key + 1, fmt::format("PSRDADA ring {:x}", options_.key + 1)),
      start_(options_.header.value("UTC_START")) {
    data_.check_owner(headers_.access(), "the ring of headers");
    if (options_.record_bytes > largest_record())
        throw_error(
            data_.name(),
            "a chunk has {} bytes, and the ring {} blocks x {}, one of which may be begun: there is room "
            "for {}; make a larger one (dada_db -b, -n)",
            options_.record_bytes, data_.blocks(), data_.block_bytes(), largest_record());
    const Place largest{UINT64_MAX, INT64_MIN, std::chrono::system_clock::now()};
    if (const std::size_t size = header_text(largest).size(); size >= headers_.block_bytes())
        // Readers look for a zero at its end.
        throw_error(
            headers_.name(),
            "a header has up to {} bytes with the zero at its end, and its blocks {}; make larger ones "
            "(dada_db -a), or shorten the template",
            size + 1, headers_.block_bytes());
    for (DadaRing* const ring : {&headers_, &data_})
        // A sink of this process that is ending may have it, and gives it back soon.
        if (!ring->lock() && !ring->lock_is_of_this_process())
            throw_error(ring->name(),
                        "another process writes to it; end that one, or give the key of another ring");
    lock();
}

DadaWriter::~DadaWriter() {
    try {
        finish();
    } catch (const std::exception&) {
        // Nothing is left to write to.
    }
}

/// Returns the bytes for which the ring has room wherever a record begins.
std::uint64_t DadaWriter::largest_record() const noexcept {
    return (data_.blocks() - 1) * data_.block_bytes();
}

bool DadaWriter::lock() {
    if (data_.locked() && headers_.locked())
        return true;
    if (headers_.lock() && data_.lock())
        return true;
    headers_.unlock();
    data_.unlock();
    return false;
}

DadaRing::Clock::time_point DadaWriter::limit() const {
    return DadaRing::Clock::now() + (full_ ? std::chrono::milliseconds(0) : options_.patience);
}

DadaWriter::Result DadaWriter::write(const Place& place, std::span<const std::span<const std::byte>> parts) {
    if (!lock())
        return Result::other_writer;
    std::uint64_t bytes = 0;
    for (const auto part : parts)
        bytes += part.size();
    if (bytes > largest_record())
        return Result::too_large;
    const auto until = limit();
    const bool follows = data_.writing() && next_ == place.offset;
    if (!follows && data_.writing() && !end_transfer(until)) {
        full_ = true;
        return Result::no_room;
    }
    // Here, so that no transfer begins without a record.
    const std::uint64_t beside = block_.empty() ? 0 : block_.size() - used_;
    const std::uint64_t blocks =
        bytes <= beside ? 0 : (bytes - beside + data_.block_bytes() - 1) / data_.block_bytes();
    const std::uint64_t ahead = block_.empty() || blocks == 0 ? blocks : blocks + 1;
    if (!data_.wait(ahead, until) || (!follows && !begin_transfer(place))) {
        full_ = true;
        return Result::no_room;
    }
    full_ = false;
    for (const auto part : parts)
        copy(part);
    next_ = place.offset + bytes;
    return Result::written;
}

/// Copies bytes that the ring has room for.
void DadaWriter::copy(std::span<const std::byte> part) {
    while (!part.empty()) {
        if (block_.empty()) {
            block_ = data_.next_block();
            used_ = 0;
            if (block_.empty())
                throw_error(
                    data_.name(),
                    "another process takes the semaphores of its writer; make it anew (dada_db -d, then "
                    "dada_db)");
        }
        const std::size_t n = std::min(part.size(), block_.size() - used_);
        std::memcpy(block_.data() + used_, part.data(), n);
        part = part.subspan(n);
        used_ += n;
        if (used_ == block_.size()) {
            data_.filled();
            block_ = {};
        }
    }
}

/// Ends the open transfer, perhaps a former writer's. Without bytes in a block, its end takes an empty one.
bool DadaWriter::end_transfer(DadaRing::Clock::time_point limit) {
    if (block_.empty()) {
        if (!data_.wait(1, limit))
            return false;
        used_ = 0;
        if (block_ = data_.next_block(); block_.empty())
            return false;
    }
    if (!data_.end(used_))
        return false;
    block_ = {};
    next_.reset();
    return true;
}

bool DadaWriter::begin_transfer(const Place& place) {
    if (!data_.can_start() || !headers_.wait(1, DadaRing::Clock::now()) ||
        (!headers_.writing() && !headers_.start()))
        return false;
    const std::span<std::byte> block = headers_.next_block();
    if (block.empty() || !data_.start())
        return false;
    const std::string text = header_text(place);
    std::memset(block.data(), 0, block.size());
    std::memcpy(block.data(), text.data(), std::min(text.size(), block.size()));
    headers_.filled();
    return true;
}

std::string DadaWriter::header_text(const Place& place) const {
    using Value = DadaHeader::Value;
    std::vector<Value> values{{"HDR_VERSION", options_.header.value("HDR_VERSION").value_or("1.0")},
                              {"HDR_SIZE", fmt::format("{}", headers_.block_bytes())},
                              {"UTC_START", start_.value_or(utc_text(place.start))},
                              {"OBS_OFFSET", fmt::format("{}", place.offset)}};
    const std::uint64_t record = options_.record_bytes;
    if (record != 0)
        values.push_back({"RESOLUTION", fmt::format("{}", record)});
    if (!options_.header.value("FILE_SIZE"))
        values.push_back(
            {"FILE_SIZE",
             fmt::format("{}", record == 0 ? kUsualFile : record * ((kUsualFile + record - 1) / record))});
    values.push_back({"SPEAD_STREAM", options_.stream});
    if (place.chunk)
        values.push_back({"SPEAD_CHUNK", fmt::format("{}", *place.chunk)});
    return options_.header.with(values);
}

bool DadaWriter::finish() {
    if (!data_.locked())
        return true;
    const bool ended = !data_.writing() || end_transfer(DadaRing::Clock::now() + options_.end_patience);
    data_.unlock();
    headers_.unlock();
    return ended;
}

const char* DadaWriter::name_of(Result result) noexcept {
    switch (result) {
        case Result::no_room:
            return "its readers have left no room";
        case Result::too_large:
            return "the heap is larger than the ring";
        case Result::other_writer:
            return "another writer has the ring";
        case Result::written:
            break;
    }
    return "written";
}

}  // namespace spead::sink
