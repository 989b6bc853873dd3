// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/dada_output.hpp"

#include <utility>

#include "base/counted.hpp"
#include "runtime/wall_clock.hpp"

namespace spead::runtime {

namespace {

sink::DadaWriter::Options dada_options(const SinkPlan& plan, const std::string& stream,
                                       std::uint64_t record_bytes) {
    sink::DadaWriter::Options options;
    options.key = sink::parse_dada_key(plan.ring, "sink of " + stream);
    options.stream = stream;
    options.record_bytes = record_bytes;
    if (!plan.header.empty())
        options.header = sink::DadaHeader::read(plan.header);
    return options;
}

}  // namespace

std::chrono::system_clock::time_point time_of_arrival(std::uint64_t ticks) {
    const std::int64_t ns = WallClock().ns_of(ticks);
    return ns == 0 ? std::chrono::system_clock::now()
                   : std::chrono::system_clock::time_point(std::chrono::nanoseconds(ns));
}

DadaOutput::DadaOutput(const SinkPlan& plan, std::string stream, std::uint64_t record_bytes, std::string what,
                       std::function<void(const char* why)> lose)
    : stream_(std::move(stream)),
      what_(std::move(what)),
      lose_(std::move(lose)),
      writer_(dada_options(plan, stream_, record_bytes)) {}

bool DadaOutput::write(const Place& place, std::span<const std::span<const std::byte>> parts) {
    using Result = sink::DadaWriter::Result;
    const Result result = writer_.write(place, parts);
    if (result == Result::written) {
        if (const std::uint64_t lost = std::exchange(lost_, 0); lost > 0)
            log_notice(LogType::runtime, "stream {}: the sink writes again; {} lost", stream_,
                       counted_were(lost, what_));
        return true;
    }
    const char* const why = sink::DadaWriter::name_of(result);
    lose_(why);
    if (lost_++ == 0)
        log_warning(LogType::runtime, "stream {}: the sink loses {}: {}", stream_, what_, why);
    return false;
}

void DadaOutput::finish() {
    if (lost_ != 0)
        log_warning(LogType::runtime, "stream {}: the sink lost {} before its end", stream_,
                    counted(lost_, what_));
    if (!writer_.finish())
        log_warning(
            LogType::runtime,
            "stream {}: the transfer has no end: the readers left no room for it; the next writer ends "
            "it",
            stream_);
}

}  // namespace spead::runtime
