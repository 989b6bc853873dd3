// SPDX-License-Identifier: BSD-3-Clause
#include "stats/latest_snapshot.hpp"

#include <utility>
#include <vector>

namespace spead::stats {

void LatestSnapshot::publish(Snapshot snapshot, Clock::time_point now) {
    Entry entry{0, now, std::make_shared<const Snapshot>(std::move(snapshot))};
    // Old snapshots are freed after the lock is given back.
    std::vector<Entry> old;
    const std::lock_guard lock(mutex_);
    entry.sequence = ++sequence_;
    entries_.push_back(std::move(entry));
    while (entries_.size() > 2 && now - entries_[1].time >= kWindow) {
        old.push_back(std::move(entries_.front()));
        entries_.pop_front();
    }
}

LatestSnapshot::View LatestSnapshot::look(Clock::time_point now) const {
    View view;
    const std::lock_guard lock(mutex_);
    if (entries_.empty())
        return view;
    view.latest = entries_.back();
    if (entries_.size() > 1)
        view.earlier = entries_.front();
    view.age = now - view.latest.time;
    return view;
}

}  // namespace spead::stats
