// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stream_sinks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace spead::runtime {

void StreamSinks::replace(std::shared_ptr<Sink> successor) {
    if (current_)
        former_.push_back(std::move(current_));
    current_ = std::move(successor);
}

std::vector<std::shared_ptr<Sink>> StreamSinks::take_unused(const std::function<bool(const Sink&)>& used) {
    const auto unused = std::stable_partition(former_.begin(), former_.end(),
                                              [&used](const auto& sink) { return used(*sink); });
    std::vector<std::shared_ptr<Sink>> taken(std::make_move_iterator(unused),
                                             std::make_move_iterator(former_.end()));
    former_.erase(unused, former_.end());
    return taken;
}

void StreamSinks::add_to(stats::StreamSnapshot& snap) const {
    const auto add = [&snap](const Sink& sink) {
        snap.heaps_verified += sink.verified();
        snap.heaps_wrong += sink.wrong();
    };
    if (current_) {
        add(*current_);
        snap.sink_failure = current_->failure();
        snap.sink_losses = current_->losses();
    }
    for (const auto& sink : former_)
        add(*sink);
}

}  // namespace spead::runtime
