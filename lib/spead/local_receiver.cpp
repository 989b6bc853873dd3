// SPDX-License-Identifier: BSD-3-Clause
#include "spead/local_receiver.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "spead/local_run.hpp"
#include "spead/plan_edits.hpp"

namespace spead::door {

namespace {

/// Limits the runs before whose heaps have not been taken. Each keeps the memory of its heaps.
constexpr std::size_t kMostFormer = 16;

/// Checks the stream as a part of a plan. It may name any CPUs.
void check_stream(const runtime::ReceivePlan& r) {
    runtime::Plan plan = first_plan({}, std::nullopt);
    plan.receives.push_back(r);
    plan.receives.back().lcores.clear();
    plan.receives.back().port = port_for(plan, "net_ring0");
    check(plan);
}

}  // namespace

LocalReceiver::LocalReceiver(runtime::ReceivePlan plan, Parts parts)
    : end_(parts.queues ? std::make_unique<LocalEnd>(parts.queues) : nullptr),
      parts_(std::move(parts)),
      plan_(std::move(plan)) {
    check_stream(plan_);
    if (plan_.enabled)
        start();
}

LocalReceiver::~LocalReceiver() {
    if (!is_own()) {
        static_cast<void>(next_.release());
        static_cast<void>(run_.release());
        for (std::unique_ptr<LocalRun>& run : ending_)
            static_cast<void>(run.release());
        return;
    }
    const std::lock_guard lock(mutex_);
    next_.reset();
    run_.reset();
    ending_.clear();
    if (parts_.queues)
        parts_.queues->drop_if_abandoned();
}

bool LocalReceiver::is_own() const noexcept {
    return mark_.is_own();
}

bool LocalReceiver::prepare() {
    const std::lock_guard lock(mutex_);
    return prepare_run();
}

/// Opens the sources. One that was never open leaves when it cannot be opened: it would fail each start, also
/// those for other readers.
std::unique_ptr<recv::SeveralReaders> LocalReceiver::open_readers() {
    auto all = std::make_unique<recv::SeveralReaders>("receive " + plan_.name);
    if (parts_.make_reader)
        if (std::unique_ptr<recv::PacketReader> first = parts_.make_reader(plan_))
            all->add(std::move(first));
    for (auto make = more_readers_.begin(); make != more_readers_.end(); ++make) {
        std::unique_ptr<recv::PacketReader> reader;
        try {
            reader = (*make)(plan_);
        } catch (...) {
            if (!run_ && ending_.empty())
                more_readers_.erase(make);
            throw;
        }
        all->add(std::move(reader));
    }
    return all;
}

bool LocalReceiver::prepare_run() {
    if (run_ && run_->receives())
        return false;
    if (next_)
        return true;
    if (dropped_)
        throw_error(where_of("receive", plan_.name), "it starts once, and has ended; make another stream");
    retire();
    next_ = std::make_unique<LocalRun>(plan_, parts_, open_readers(), end_.get());
    return true;
}

void LocalReceiver::cancel() noexcept {
    const std::lock_guard lock(mutex_);
    next_.reset();
}

void LocalReceiver::start() {
    const std::lock_guard lock(mutex_);
    if (!prepare_run())
        return;
    std::unique_ptr<LocalRun> fresh = std::move(next_);
    fresh->begin(plan_);
    run_ = std::move(fresh);
    if (parts_.once)
        drop_readers();
}

/// Forgets what opens the readers. Those of a run go with it.
void LocalReceiver::drop_readers() noexcept {
    dropped_ = true;
    parts_.make_reader = nullptr;
    more_readers_.clear();
}

void LocalReceiver::settle() {
    const std::lock_guard lock(mutex_);
    if (run_ && !run_->receives())
        end_run();
}

void LocalReceiver::end_run() const {
    if (!run_->end())
        throw_error(where_of("receive", plan_.name), "it has not ended yet: {}; start it when that has",
                    LocalRun::silence());
}

/// Makes room for another run.
void LocalReceiver::retire() {
    fold();
    if (ending_.size() + former_.size() >= kMostFormer)
        throw_error(where_of("receive", plan_.name),
                    "heaps of {} earlier starts wait for you, with their memory; take them, then start it",
                    kMostFormer);
    if (!run_)
        return;
    end_run();
    ending_.push_back(std::move(run_));
    fold();
}

/// Ends runs that have handed all over, and keeps of them only what is still needed.
void LocalReceiver::fold() const {
    std::erase_if(ending_, [this](std::unique_ptr<LocalRun>& run) {
        if (!run->over())
            return false;
        const LocalRun::Counts c = run->counts();
        past_.lost += c.lost;
        past_.work.add(c.work);
        past_.stream.chunks.add(c.chunks);
        if (run->queue())
            former_.push_back({c.counters, run->queue()});
        else
            past_.stream.add(c.counters, c.heaps.delivered, c.heaps.unwritten);
        return true;
    });
    std::erase_if(former_, [this](const Former& f) {
        const auto done = parts_.queues->remove(*f.queue);
        if (done)
            past_.stream.add(f.counters, done->delivered, done->unwritten);
        return done.has_value();
    });
}

void LocalReceiver::stop() noexcept {
    const std::lock_guard lock(mutex_);
    next_.reset();
    if (run_ && !run_->end())
        log_warning(LogType::recv, "receive {}: it has not ended: {}; it ends as soon as that has",
                    plan_.name, LocalRun::silence());
    if (parts_.once)
        drop_readers();
    // One that has never begun ends, too.
    if (end_)
        end_->end_if_idle();
}

void LocalReceiver::add_reader(MakeReader make) {
    const std::lock_guard lock(mutex_);
    LocalRun* const run = next_ ? next_.get() : run_.get();
    const bool receives = run != nullptr && run->receives();
    if (dropped_ && !receives)
        return;
    more_readers_.push_back(std::move(make));
    try {
        if (receives)
            run->add(more_readers_.back()(plan_));
    } catch (...) {
        more_readers_.pop_back();
        throw;
    }
    if (dropped_)
        more_readers_.pop_back();
}

void LocalReceiver::change_endpoints(const std::function<void(runtime::ReceivePlan&)>& edit) {
    const std::lock_guard lock(mutex_);
    runtime::ReceivePlan wanted = plan_;
    edit(wanted);
    check_stream(wanted);
    if (run_)
        run_->change(wanted.endpoints);
    plan_ = std::move(wanted);
}

LocalReceiver::Counts LocalReceiver::counts() const {
    const std::lock_guard lock(mutex_);
    fold();
    Counts all = past_;
    const auto add = [&all](const LocalRun::Counts& c) {
        all.lost += c.lost;
        all.work.add(c.work);
        all.stream.chunks.add(c.chunks);
        all.stream.add(c.counters, c.heaps.delivered, c.heaps.unwritten);
    };
    for (const Former& f : former_) {
        const runtime::HeapTally::Done done = f.queue->done();
        all.stream.add(f.counters, done.delivered, done.unwritten);
    }
    for (const auto& run : ending_)
        add(run->counts());
    if (run_)
        add(run_->counts());
    return all;
}

}  // namespace spead::door
