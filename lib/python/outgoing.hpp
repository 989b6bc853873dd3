// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <pybind11/pybind11.h>
#include <span>
#include <spead/writers.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/process_mark.hpp"
#include "python/bytes.hpp"
#include "python/gpu_array.hpp"
#include "python/without_gil.hpp"

/// Holds what Python sends. Objects here are made and destroyed with the GIL, unless a comment says
/// otherwise.
namespace spead::python {

namespace py = pybind11;

/// Holds the items of a heap of Python's, and pins their memory, or keeps their arrays on a GPU: as long as
/// the heap lives, and as long as it is being sent.
///
/// A heap of the library is in flight once. One of Python's may be, in several streams, any number of times:
/// it has a heap of the library for each.
class OutgoingItems {
  public:
    explicit OutgoingItems(unsigned address_bits);

    void add(std::uint64_t id, const py::handle& value, bool small);
    void add_immediate(std::uint64_t id, std::uint64_t value);
    void add_descriptor(const py::handle& encoded);
    void add_start();
    void add_stop();
    void repeat_pointers(bool yes);
    bool repeats_pointers() const noexcept { return repeat_pointers_; }
    std::size_t size() const noexcept { return items_.size(); }
    /// Returns the bytes of the values, and what item pointers take.
    std::size_t least_bytes() const noexcept { return bytes_ + 8 * items_.size() + 40; }

    /// Returns a heap with these items, that is not in flight. Give it back.
    SendHeap borrow();
    void give_back(SendHeap&& heap, std::uint64_t version);
    std::uint64_t version() const noexcept { return version_; }

  private:
    enum class Kind : std::uint8_t { bytes, small, immediate, descriptor, start, stop };
    struct Item {
        Kind kind = Kind::bytes;
        std::uint64_t id = 0;
        std::uint64_t value = 0;
        std::optional<Bytes> bytes{};
        std::optional<GpuArray> on_gpu{};

        std::size_t length() const noexcept {
            return on_gpu ? on_gpu->bytes() : bytes ? bytes->span().size() : 0;
        }
    };

    void append(Item item);
    void renew(SendHeap&& heap);
    static void add_to(SendHeap& heap, const Item& item);

    const unsigned address_bits_;
    std::deque<Item> items_;
    std::size_t bytes_ = 0;
    bool repeat_pointers_ = false;
    std::uint64_t version_ = 0;   ///< grows with each change
    std::vector<SendHeap> idle_;  ///< of this version
};

/// Holds the heaps of one submission until they are completed.
struct Sending {
    struct One {
        SendHeap heap;
        std::shared_ptr<OutgoingItems> items;
        std::uint64_t version = 0;
    };

    std::vector<One> heaps;
    py::object tag;  ///< None: nobody asks for the result by it
    /// Keeps it while it is in flight. Its completion moves that to the stream: no Python object ever goes
    /// without the GIL.
    std::shared_ptr<Sending> self{};
    // Written by the completion, before `over`.
    std::atomic<bool> over{false};
    std::uint64_t bytes = 0;
    SendStatus status = SendStatus::sent;  ///< of the first heap that failed
    int error = 0;
};

/// Names a heap of a submission.
struct OutgoingReference {
    py::object heap;  ///< a Heap of Python's
    std::int64_t cnt = -1;
    std::size_t substream = 0;
    double rate = -1;
};

/// Sends heaps of Python's. Any Python thread may call anything; waits release the GIL, and Ctrl-C ends them.
class OutgoingStream {
  public:
    /// Takes a stream. `longest`: heaps of more bytes are refused as too large, since the user has asked for
    /// larger packets than there are; 0: no limit. `kept` is kept until the stream has ended.
    OutgoingStream(std::unique_ptr<SendStream> stream, std::size_t longest, py::object kept);
    ~OutgoingStream();
    OutgoingStream(const OutgoingStream&) = delete;
    OutgoingStream& operator=(const OutgoingStream&) = delete;

    /// Submits heaps. Throws OSError: with EAGAIN when there is no room, else for what the stream refuses.
    std::shared_ptr<Sending> submit(const std::vector<OutgoingReference>& heaps, bool round_robin,
                                    py::object tag);
    /// Submits, waits for the result, and returns the bytes of the packets. Throws OSError.
    std::uint64_t send(const std::vector<OutgoingReference>& heaps, bool round_robin);
    /// Returns the results since the last call: (tag, bytes, None or OSError).
    py::list take();
    /// Waits until no heap is in flight.
    void flush();

    int fd();
    std::size_t in_flight();
    std::size_t substreams() const noexcept { return substreams_; }
    void set_cnt_sequence(std::uint64_t next, std::uint64_t step);
    void set_rate(double rate);
    void set_ttl(std::uint8_t ttl);
    /// Sends a stop item to every endpoint, and waits for them. Throws Error when they are not all sent.
    void end();
    /// Gives up heaps in flight. Further ones are refused.
    void stop();
    py::dict stats();
    /// Ends the stream: waits 5 s for the heaps in flight, and gives up the rest.
    void close() noexcept;

    /// Ends all streams, at the exit of the interpreter.
    static void close_all() noexcept;

  private:
    std::shared_ptr<SendStream> stream();
    void wait_until(const std::function<bool()>& over);
    void wait_slice(const std::function<bool()>& over);
    void reap();
    static void fail(int error, const std::string& text);
    static py::object failure_of(const Sending& sending);

    const std::size_t substreams_;
    const std::size_t longest_;
    const ProcessMark mark_;
    py::object kept_;
    py::list results_;
    /// Is held for moments. Its holders wait for nothing, the GIL included, so others lock it with the GIL.
    std::mutex mutex_;
    std::condition_variable told_;
    // Guarded.
    std::shared_ptr<SendStream> stream_;
    bool polling_ = false;  ///< a thread sleeps on the descriptor
    std::mutex done_mutex_;
    std::vector<std::shared_ptr<Sending>> done_;  ///< to be reaped; guarded by done_mutex_
};

}  // namespace spead::python
