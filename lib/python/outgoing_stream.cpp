// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <poll.h>
#include <set>
#include <spead/error.hpp>
#include <string>
#include <unistd.h>

#include "python/outgoing.hpp"

namespace spead::python {

namespace {

using namespace std::chrono_literals;

/// Limits a wait without a look at signals.
constexpr std::chrono::milliseconds kSlice{100};
constexpr const char* kClosed = "the stream was closed; make a new one";

/// Knows the streams that are to be closed at exit. Touched with the GIL alone; never destroyed.
std::set<OutgoingStream*>& all_streams() {
    static auto& all = *new std::set<OutgoingStream*>;
    return all;
}

/// Forgets a submission without the GIL: Python objects stay, and are leaked.
void leak(std::shared_ptr<Sending>& sending) noexcept {
    new std::shared_ptr<Sending>(std::move(sending));
}

}  // namespace

OutgoingStream::OutgoingStream(std::unique_ptr<SendStream> stream, std::size_t longest, py::object kept)
    : substreams_(stream->substreams()),
      longest_(longest),
      kept_(std::move(kept)),
      stream_(std::move(stream)) {
    all_streams().insert(this);
}

OutgoingStream::~OutgoingStream() {
    close();
}

void OutgoingStream::fail(int error, const std::string& text) {
    PyErr_SetObject(PyExc_OSError, py::make_tuple(error, text).ptr());
    throw py::error_already_set();
}

/// Returns the stream, for what any thread may call. Throws OSError after close().
std::shared_ptr<SendStream> OutgoingStream::stream() {
    std::shared_ptr<SendStream> of;
    {
        const std::lock_guard lock(mutex_);
        of = stream_;
    }
    if (!of)
        fail(EBADF, kClosed);
    return of;
}

std::shared_ptr<Sending> OutgoingStream::submit(const std::vector<OutgoingReference>& heaps, bool round_robin,
                                                py::object tag) {
    if (heaps.empty())
        fail(EINVAL, "the group is empty; give at least one heap");
    reap();
    const auto sending = std::make_shared<Sending>();
    sending->tag = std::move(tag);
    std::vector<SendOptions> options;
    sending->heaps.reserve(heaps.size());
    options.reserve(heaps.size());
    for (const OutgoingReference& one : heaps) {
        const auto items = one.heap.cast<std::shared_ptr<OutgoingItems>>();
        if (longest_ != 0 && items->least_bytes() > longest_)
            fail(EMSGSIZE,
                 "a packet of the heap is larger than a UDP datagram can be; lower max_packet_size");
        SendOptions& o = options.emplace_back();
        o.substream = static_cast<std::uint32_t>(std::min<std::size_t>(one.substream, UINT32_MAX));
        if (one.cnt >= 0)
            o.cnt = static_cast<std::uint64_t>(one.cnt);
        if (one.rate >= 0)
            o.rate = one.rate;
        sending->heaps.push_back({items->borrow(), items, items->version()});
    }
    const auto over = [this, sending = sending.get()](std::span<const SendResult> results) {
        for (const SendResult& r : results) {
            sending->bytes += r.bytes;
            if (r.status != SendStatus::sent && sending->status == SendStatus::sent) {
                sending->status = r.status;
                sending->error = r.error;
            }
        }
        const std::lock_guard lock(done_mutex_);
        done_.push_back(std::move(sending->self));
        sending->over = true;
    };
    bool has_room = false;
    int error = EAGAIN;
    std::string refused = "max_heaps are in flight; wait for one of them, or raise max_heaps";
    sending->self = sending;
    try {
        const std::lock_guard lock(mutex_);
        if (!stream_) {
            error = EBADF;
            refused = kClosed;
        } else if (heaps.size() == 1) {
            has_room = stream_->try_send(sending->heaps[0].heap, options[0],
                                         [over](const SendResult& r) { over(std::span(&r, 1)); });
        } else {
            std::vector<GroupHeap> group;
            for (std::size_t i = 0; i < heaps.size(); i++)
                group.push_back({sending->heaps[i].heap, options[i]});
            has_room = stream_->try_send_heaps(
                group, round_robin ? GroupMode::round_robin : GroupMode::serial, over);
        }
    } catch (const std::exception& e) {
        error = EINVAL;
        refused = e.what();
    }
    if (has_room)
        return sending;
    sending->self.reset();
    for (Sending::One& one : sending->heaps)
        one.items->give_back(std::move(one.heap), one.version);
    fail(error, refused);
    return {};
}

/// Gives back what completed heaps hold, and keeps the results of those with a tag.
void OutgoingStream::reap() {
    std::vector<std::shared_ptr<Sending>> done;
    {
        const std::lock_guard lock(done_mutex_);
        done.swap(done_);
    }
    for (const std::shared_ptr<Sending>& sending : done) {
        for (Sending::One& one : sending->heaps)
            one.items->give_back(std::move(one.heap), one.version);
        sending->heaps.clear();
        if (!sending->tag.is_none())
            results_.append(py::make_tuple(sending->tag, sending->bytes, failure_of(*sending)));
    }
}

py::object OutgoingStream::failure_of(const Sending& sending) {
    const auto make = [](int error, const char* text) {
        return py::reinterpret_borrow<py::object>(PyExc_OSError)(error, text);
    };
    switch (sending.status) {
        case SendStatus::sent:
            break;
        case SendStatus::refused:
            return make(sending.error, std::strerror(sending.error));
        case SendStatus::timed_out:
            return make(ETIMEDOUT, "the heap was not sent within the stream's timeout");
        case SendStatus::aborted:
            return make(ECANCELED, "the stream ended before the heap was sent");
    }
    return py::none();
}

std::uint64_t OutgoingStream::send(const std::vector<OutgoingReference>& heaps, bool round_robin) {
    const std::shared_ptr<Sending> sending = submit(heaps, round_robin, py::none());
    wait_until([&sending] { return sending->over.load(); });
    reap();
    if (const py::object failure = failure_of(*sending); !failure.is_none()) {
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(failure.ptr())), failure.ptr());
        throw py::error_already_set();
    }
    return sending->bytes;
}

py::list OutgoingStream::take() {
    {
        const std::lock_guard lock(mutex_);
        if (stream_)
            stream_->poll();
    }
    reap();
    return std::exchange(results_, py::list());
}

/// Waits with slices, between which Ctrl-C is looked for. `over` is called under the lock.
void OutgoingStream::wait_until(const std::function<bool()>& over) {
    for (;;) {
        bool is_over = false;
        {
            const WithoutGil released;
            const std::lock_guard lock(mutex_);
            is_over = over();
        }
        if (is_over)
            return;
        {
            const WithoutGil released;
            wait_slice(over);
        }
        if (PyErr_CheckSignals() != 0)
            throw py::error_already_set();
    }
}

/// Waits for a moment, without the GIL. One thread at a time sleeps on the descriptor, and wakes the others.
void OutgoingStream::wait_slice(const std::function<bool()>& over) {
    const auto end = std::chrono::steady_clock::now() + kSlice;
    std::unique_lock lock(mutex_);
    for (;;) {
        if (stream_ && stream_->poll() != 0)
            told_.notify_all();
        if (over() || std::chrono::steady_clock::now() >= end)
            return;
        // While the stream ends, close() takes the completions.
        if (polling_ || !stream_) {
            told_.wait_until(lock, end);
            continue;
        }
        polling_ = true;
        pollfd p{stream_->fd(), POLLIN, 0};
        lock.unlock();
        ::poll(&p, 1, static_cast<int>(kSlice.count()));
        lock.lock();
        polling_ = false;
        told_.notify_all();
    }
}

void OutgoingStream::flush() {
    wait_until([this] { return !stream_ || stream_->in_flight() == 0; });
}

int OutgoingStream::fd() {
    return stream()->fd();
}

std::size_t OutgoingStream::in_flight() {
    const std::lock_guard lock(mutex_);
    return stream_ ? stream_->in_flight() : 0;
}

void OutgoingStream::set_cnt_sequence(std::uint64_t next, std::uint64_t step) {
    stream()->set_cnt_sequence(next, step);
}

void OutgoingStream::set_rate(double rate) {
    const std::shared_ptr<SendStream> of = stream();
    const WithoutGil released;
    of->set_rate(rate);
}

void OutgoingStream::set_ttl(std::uint8_t ttl) {
    const std::shared_ptr<SendStream> of = stream();
    const WithoutGil released;
    of->set_ttl(ttl);
}

void OutgoingStream::end() {
    flush();
    struct Stops {
        std::size_t left = 0;
        std::size_t failed = 0;
    };
    const auto stops = std::make_shared<Stops>();
    const auto over = [stops](const SendResult& result) {
        stops->left--;
        stops->failed += result.status == SendStatus::sent ? 0 : 1;
    };
    std::uint32_t next = 0;
    bool closed = false;
    wait_until([&] {
        closed = !stream_;
        for (; !closed && next < substreams_ && stream_->try_end(next, over); next++)
            stops->left++;
        return closed || (next == substreams_ && stops->left == 0);
    });
    if (closed)
        fail(EBADF, kClosed);
    if (stops->failed != 0)
        throw Error("stream", std::to_string(stops->failed) + " of " + std::to_string(substreams_) +
                                  " stop items were not sent: the stream was stopped, or they were refused");
}

void OutgoingStream::stop() {
    const std::lock_guard lock(mutex_);
    if (stream_)
        stream_->stop();
}

py::dict OutgoingStream::stats() {
    const std::shared_ptr<SendStream> of = stream();
    SendStats s;
    {
        const WithoutGil released;
        s = of->stats();
    }
    py::dict all;
    all["heaps"] = s.heaps;
    all["packets"] = s.packets;
    all["bytes"] = s.bytes;
    all["heaps_aborted"] = s.heaps_aborted;
    all["heaps_timed_out"] = s.heaps_timed_out;
    all["heaps_refused"] = s.heaps_refused;
    all["packets_dropped"] = s.packets_dropped;
    return all;
}

void OutgoingStream::close() noexcept {
    all_streams().erase(this);
    if (!mark_.is_own()) {
        // A child of fork(2) has none of the threads, and perhaps a lock that one of them held.
        if (!stream_)
            return;
        new std::shared_ptr<SendStream>(std::move(stream_));
        for (std::shared_ptr<Sending>& sending : done_)
            leak(sending);
        return;
    }
    {
        const WithoutGil released;
        std::shared_ptr<SendStream> ending;
        {
            std::unique_lock lock(mutex_);
            told_.wait(lock, [this] { return !polling_; });
            ending.swap(stream_);
        }
        if (!ending)
            return;
        // Its completions lock nothing: no other thread has it any more, but for changes that are under way.
        while (ending.use_count() > 1)
            ::usleep(1000);
        ending.reset();
        // A thread that waits has looked before this, or sleeps.
        { const std::lock_guard lock(mutex_); }
        told_.notify_all();
    }
    try {
        reap();
    } catch (py::error_already_set& error) {
        error.discard_as_unraisable("dpdk_spead.send");
    }
    kept_ = py::none();
}

void OutgoingStream::close_all() noexcept {
    while (!all_streams().empty()) {
        OutgoingStream* const stream = *all_streams().begin();
        // Another thread may drop its own reference meanwhile.
        py::object kept;
        try {
            kept = py::cast(stream, py::return_value_policy::reference);
        } catch (const std::exception&) {
            PyErr_Clear();  // no memory
        }
        stream->close();
    }
}

}  // namespace spead::python
