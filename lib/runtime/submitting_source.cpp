// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/submitting_source.hpp"

#include <array>
#include <utility>

#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "runtime/consumers.hpp"
#include "wire/flavour.hpp"

namespace spead::runtime {

SubmittingSource::SubmittingSource(const SendPlan& plan, send::Sender& sender, memory::RegionTable& regions,
                                   std::size_t bytes)
    : plan_(plan),
      memory_(bytes),
      sender_(sender),
      regions_(regions),
      lockstep_(std::make_shared<Lockstep>(plan.max_heaps)) {
    regions_.add({memory_.base(), memory_.length(), memory::MemoryKind::host, -1});
}

SubmittingSource::~SubmittingSource() {
    regions_.remove(memory_.base());
}

void SubmittingSource::end_thread() {
    abandon();
    join();
}

void SubmittingSource::start(const std::vector<unsigned>& cpus, std::int64_t heaps) {
    join();
    plan_.heaps = heaps;
    index_ = 0;
    const Lockstep::Used used = used_with_stops();
    start_again(lockstep_->begin(side_, used, this));
    stops_.clear();
    failure_.clear();
    stop_.store(false, std::memory_order_relaxed);
    done_.store(false, std::memory_order_relaxed);
    try {
        thread_ = start_thread("send " + plan_.name, [this, cpus] {
            run_on(cpus);
            run();
        });
    } catch (...) {
        lockstep_->end(side_, used, this);
        done_.store(true, std::memory_order_relaxed);
        throw;
    }
}

void SubmittingSource::request_stop() noexcept {
    lockstep_->request_stop(side_, Lockstep::Clock::now(), this);
    stop_.store(true, std::memory_order_release);
}

void SubmittingSource::abandon() noexcept {
    stop_.store(true, std::memory_order_release);
    abandon_.store(true, std::memory_order_release);
    sender_.request_stop();
}

void SubmittingSource::join() {
    if (thread_.joinable())
        thread_.join();
}

void SubmittingSource::run() {
    try {
        submit_all();
        while (sender_.in_flight() != 0 && !abandon_.load(std::memory_order_acquire)) {
            collect();
            wait_.wait(idle_rounds_);
        }
    } catch (const std::exception& e) {
        note(e);
    }
    lockstep_->end(side_, used_with_stops(), this);
    done_.store(true, std::memory_order_release);
}

std::optional<std::uint64_t> SubmittingSource::next_index(std::uint64_t index) {
    index_ = index;
    reached_ = std::max(reached_, index);
    for (;;) {
        if (abandon_.load(std::memory_order_acquire) || must_end())
            return std::nullopt;
        if (lockstep_->is_alone(side_, index, this))
            return index;
        if (const std::optional<std::uint64_t> next = lockstep_->next(side_, index, Lockstep::Clock::now())) {
            if (*next > reached_ && left_out_ != nullptr)
                left_out_->fetch_add(*next - reached_, std::memory_order_relaxed);
            if (*next != index && tells_of_skip())
                log_notice(LogType::runtime, "send {}: heaps are left out, to be in step with the other path",
                           plan_.name);
            index_ = *next;
            return next;
        }
        collect();
        wait_.wait(idle_rounds_);
    }
}

/// Returns whether to tell that heaps are left out. While the port takes nothing, that happens again and
/// again.
bool SubmittingSource::tells_of_skip() noexcept {
    const Lockstep::Clock::time_point before = std::exchange(skipped_, Lockstep::Clock::now());
    return skipped_ - before > std::chrono::seconds(1);
}

/// Returns whether the stop items are left to the other side.
bool SubmittingSource::leaves_stops() {
    const auto since = Lockstep::Clock::now();
    for (;;) {
        const Lockstep::Stops answer = lockstep_->stops(side_, since, Lockstep::Clock::now(), this);
        if (answer != Lockstep::Stops::ask_again)
            return answer == Lockstep::Stops::no;
        collect();
        wait_.wait(idle_rounds_);
    }
}

Lockstep::Used SubmittingSource::used_with_stops() const {
    Lockstep::Used all = used();
    all.counts += stops_.size();
    return all;
}

void SubmittingSource::submit_stops(std::uint64_t sent, std::uint64_t first_cnt, std::uint64_t cnt_step) {
    if (leaves_stops()) {
        log_notice(LogType::runtime,
                   "send {}: ends without stop items, because the one of the other path goes on", plan_.name);
        return;
    }
    const wire::Flavour flavour(plan_.address_bits);
    for (std::size_t j = 0; j < plan_.endpoints.size(); j++) {
        auto heap = std::make_unique<send::OutgoingHeap>(flavour);
        heap->add_stop();
        stops_.push_back(std::move(heap));
        send::Submission s;
        s.heap = stops_.back().get();
        s.cnt = (first_cnt + j * cnt_step) & flavour.value_mask();
        s.control = true;
        s.rate = 0;  // it need not wait for the time of data that was given up
        s.substream = static_cast<std::uint32_t>((sent + j) % plan_.endpoints.size());
        if (!submit(std::span(&s, 1)))
            return;
    }
}

bool SubmittingSource::submit(std::span<const send::Submission> group) {
    const send::Interleave mode =
        group.size() == 1 ? send::Interleave::serial : send::Interleave::round_robin;
    while (!sender_.submit(group, mode)) {
        if (abandon_.load(std::memory_order_acquire) || (!group.front().control && must_end()))
            return false;
        wait_in_flight();
    }
    idle_rounds_ = 0;
    return true;
}

/// Waits a moment for heaps in flight. Those of a sender that was left behind are too old to be sent.
void SubmittingSource::wait_in_flight() {
    if (lockstep_->is_left_behind(side_, index_))
        sender_.request_recall();
    if (const std::uint64_t polls = sender_.polls(); std::exchange(polls_, polls) != polls)
        lockstep_->note_running(side_, this);
    collect();
    wait_.wait(idle_rounds_);
}

void SubmittingSource::collect() {
    std::array<send::Completion, 32> completions;
    for (;;) {
        const std::size_t n = sender_.poll_completions(completions);
        for (std::size_t i = 0; i < n; i++)
            if (auto* const slot = static_cast<HeapSlot*>(completions[i].user); slot != nullptr)
                slot->busy = false;
        if (n != 0)
            idle_rounds_ = 0;
        if (n < completions.size())
            return;
    }
}

}  // namespace spead::runtime
