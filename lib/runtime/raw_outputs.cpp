// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/raw_outputs.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"

namespace spead::runtime {

RawOutputs::RawOutputs(const std::vector<std::string>& directories, const std::string& stream,
                       const RawOutput::Kind& kind, std::function<void(const char* what)> fail,
                       const sink::RawWriter::Options& options)
    : stream_(stream), fail_(std::move(fail)), last_(directories.size() - 1) {
    for (std::size_t i = 0; i < directories.size(); i++)
        outputs_.emplace_back(
            directories[i], stream, kind, [this, i](const char* what) { this->fail(i, what); }, options);
}

/// Notes that an output takes nothing more. Any thread.
void RawOutputs::fail(std::size_t which, const char* what) {
    std::string all;
    {
        const std::lock_guard lock(mutex_);
        if (outputs_[which].failed.exchange(true))
            return;
        if (failure_.empty())
            failure_ = what;
        if (++failed_ == outputs_.size())
            all = failure_;
    }
    if (all.empty())
        log_error(LogType::runtime, "stream {}: {}; its other directories go on", stream_, what);
    else
        fail_(all.c_str());
}

/// Returns the first output after the last one that has room for so many bytes, or the one with the most;
/// null: all have failed.
RawOutputs::One* RawOutputs::next(std::size_t bytes) noexcept {
    One* best = nullptr;
    std::size_t most = 0;
    std::size_t which = last_;
    for (std::size_t i = 1; i <= outputs_.size(); i++) {
        const std::size_t at = (last_ + i) % outputs_.size();
        One& one = outputs_[at];
        if (one.failed.load(std::memory_order_acquire))
            continue;
        const std::size_t room = one.output.room();
        if (best != nullptr && room <= most)
            continue;
        best = &one;
        most = room;
        which = at;
        if (room >= bytes)
            break;
    }
    last_ = which;
    return best;
}

void RawOutputs::add(std::span<const std::span<const std::byte>> parts, const RawOutput::Line& line,
                     const Sink::Settled& settled) {
    std::size_t bytes = 0;
    for (const auto part : parts)
        bytes += part.size();
    for (;;) {
        One* const one = next(bytes);
        if (one == nullptr) {
            settled(false);
            return;
        }
        try {
            one->output.add(parts, line, settled);
            return;
        } catch (const Error& error) {
            // No file can be made there.
            fail(last_, error.what());
        }
    }
}

void RawOutputs::settle() {
    for (One& one : outputs_)
        one.output.settle();
}

void RawOutputs::finish() {
    std::string first;
    for (One& one : outputs_)
        try {
            one.output.finish();
        } catch (const Error& error) {
            if (first.empty())
                first = error.what();
        }
    const std::lock_guard lock(mutex_);
    if (failed_ > 0)
        throw Error(failure_);
    if (!first.empty())
        throw Error(first);
}

}  // namespace spead::runtime
