// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <pybind11/pybind11.h>
#include <spead/recv.hpp>
#include <string>
#include <vector>

#include "base/process_mark.hpp"
#include "python/heaps.hpp"
#include "python/readers.hpp"

namespace spead::python {

/// Receives heaps for Python: from readers, or from a port. Everything is called with the GIL, which waits
/// release. The stream of the library is made with its first source.
class HeapStream {
  public:
    struct Options {
        spead::RecvConfig config{};   ///< of the library's stream
        std::size_t port_memory = 0;  ///< of a stream of a port, where all of it is resident
        unsigned bug_compat = 0;
        bool explicit_start = false;
        bool allow_unsized_heaps = true;
        bool contiguous_only = true;
        bool keep_ranges = false;
    };
    explicit HeapStream(Options options);
    ~HeapStream();
    HeapStream(const HeapStream&) = delete;
    HeapStream& operator=(const HeapStream&) = delete;

    void add_reader(const SourceOfPackets& source);
    /// Receives endpoints from a port; the first call opens it.
    void add_port(const std::string& interface, const std::vector<std::string>& endpoints,
                  std::size_t buffer_size, std::uint32_t max_size, bool busy);
    void add_endpoint(const std::string& endpoint, const std::string& twin);
    void remove_endpoint(const std::string& endpoint);
    void start();
    void stop();
    /// Stops it, and ends its thread: at the end of the interpreter.
    void close();

    /// Waits for a heap. Raises Stopped at the end.
    pybind11::object get();
    /// Returns a waiting heap; None: there is none. Raises Stopped at the end.
    pybind11::object try_get();
    /// Waits for a heap. Raises StopIteration at the end.
    pybind11::object next();
    /// Returns a descriptor that is readable while a heap waits, and at the end.
    int fd();

    spead::RecvStats stats() const;
    bool ended() const;
    const HeapFacts& facts() const noexcept { return *facts_; }
    /// Returns the heaps that are taken from the library, and not yet given to Python.
    std::size_t in_hand() const noexcept { return held_.size(); }

  private:
    enum class Source : std::uint8_t { none, readers, port };

    void need_open() const;
    void need_port() const;
    void end_stream();
    void make_local();
    void show();
    bool is_wanted(const spead::Heap& heap) const noexcept;
    pybind11::object try_take();
    pybind11::object wait();
    std::optional<spead::Heap> take();
    std::optional<spead::Heap> fetch();
    [[noreturn]] static void raise_stopped();

    Options options_;
    const ProcessMark mark_;
    std::shared_ptr<HeapFacts> facts_ = std::make_shared<HeapFacts>();
    std::vector<std::shared_ptr<Bytes>> pinned_;  ///< destroyed after the stream
    std::optional<spead::RecvStream> stream_;
    Source source_ = Source::none;
    bool started_ = false;
    bool stopped_ = false;
    bool closed_ = false;
    std::mutex change_;             ///< of changes of what is above
    int waiting_ = 0;               ///< threads that use the stream without the GIL
    std::deque<spead::Heap> held_;  ///< fetched: for fd(), or by get() that a signal ended
    int fd_ = -1;                   ///< epoll of what follows and of the stream; -1: nobody has asked
    int ready_ = -1;                ///< event: readable if held_ has a heap, or at the end
    bool is_ready_ = false;
    bool is_watched_ = false;  ///< the stream's descriptor, by fd_
};

/// Reads the settings of a stream, by name. Raises errors of Python's.
HeapStream::Options options_of(const pybind11::kwargs& settings);

/// Lists the counts by name.
pybind11::dict counts_of(const spead::RecvStats& s, const HeapFacts& facts);

/// Defines the class HeapStream, and the function that ends all of them.
void define_heap_stream(pybind11::module_& m);

}  // namespace spead::python
