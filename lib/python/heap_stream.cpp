// SPDX-License-Identifier: BSD-3-Clause
#include "python/heap_stream.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <spead/error.hpp>
#include <spead/filter.hpp>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "python/without_gil.hpp"

/// Implements streams of heaps for Python.
namespace spead::python {

namespace py = pybind11;

namespace {

using namespace std::chrono_literals;

/// Holds the time between two looks at signals.
constexpr std::chrono::milliseconds kSlice{100};
/// Limits the wait for threads that use a stream when the interpreter ends.
constexpr std::chrono::seconds kPatience{2};
/// Holds the heaps that Python may keep without a copy, besides as many as the queue has. The library has
/// records for more than those.
constexpr std::size_t kKept = 48;

/// Holds the streams of this process. It is never destroyed.
std::set<HeapStream*>& all_streams() {
    static auto* const all = new std::set<HeapStream*>;
    return *all;
}

/// Refuses packets that do not tell the length of their heap.
class SizedOnly final : public spead::PacketFilter {
  public:
    bool keep(const spead::Packet& packet) noexcept override { return packet.heap_length().has_value(); }
};

/// Counts a thread that uses the stream without the GIL.
class Using {
  public:
    explicit Using(int& count) : count_(count) { count_++; }
    ~Using() { count_--; }
    Using(const Using&) = delete;
    Using& operator=(const Using&) = delete;

  private:
    int& count_;
};

/// Owns a descriptor, until it is released.
class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() {
        if (fd_ >= 0)
            ::close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int get() const noexcept { return fd_; }
    int release() noexcept { return std::exchange(fd_, -1); }

  private:
    int fd_;
};

/// Calls the function without the GIL.
template <typename Function>
auto without_gil(Function&& function) {
    const WithoutGil released;
    return function();
}

}  // namespace

HeapStream::HeapStream(Options options) : options_(std::move(options)) {
    facts_->bug_compat = options_.bug_compat;
    facts_->keep_ranges = options_.keep_ranges;
    facts_->most_heaps = options_.config.queue_depth + kKept;
    facts_->most_bytes = options_.config.memory / 4;
    if (!options_.allow_unsized_heaps)
        options_.config.packet_filter = [] { return std::make_unique<SizedOnly>(); };
    all_streams().insert(this);
}

HeapStream::~HeapStream() {
    all_streams().erase(this);
    held_.clear();
    end_stream();
    if (fd_ >= 0)
        ::close(fd_);
    if (ready_ >= 0)
        ::close(ready_);
}

/// Ends the library's stream. Other threads see none from the begin on.
void HeapStream::end_stream() {
    std::optional<spead::RecvStream> ending = std::exchange(stream_, std::nullopt);
    if (ending)
        without_gil([&ending] { ending.reset(); });
}

/// Throws Error in a child of fork(2).
void HeapStream::need_open() const {
    if (!mark_.is_own())
        throw spead::Error("stream", "it belongs to the parent process; make another in this one");
}

void HeapStream::raise_stopped() {
    raise("Stopped", "the stream has ended, and its heaps have been taken");
}

void HeapStream::make_local() {
    if (stream_)
        return;
    spead::RecvConfig config = options_.config;
    config.start = false;
    config.on_full = spead::OnFull::block;
    config.prefault = false;
    stream_.emplace(without_gil([&] { return spead::RecvStream(config, spead::Reader::none()); }));
    source_ = Source::readers;
    show();
}

void HeapStream::add_reader(const SourceOfPackets& source) {
    need_open();
    const Turn turn(change_);
    if (options_.explicit_start && started_)
        throw spead::Error("stream",
                           "it has been started, and explicit_start is set; add readers before start()");
    if (source_ == Source::port)
        throw spead::UsageError("stream", "it receives from a port; make another stream for other readers");
    if (stopped_)
        return;
    make_local();
    const Using use(waiting_);
    pinned_.reserve(pinned_.size() + 1);
    without_gil([&] { stream_->add_reader(source.reader); });
    if (source.pinned)
        pinned_.push_back(source.pinned);
    if (!options_.explicit_start && !started_) {
        without_gil([this] { stream_->start(); });
        started_ = true;
    }
    show();
}

void HeapStream::add_port(const std::string& interface, const std::vector<std::string>& endpoints,
                          std::size_t buffer_size, std::uint32_t max_size, bool busy) {
    need_open();
    const Turn turn(change_);
    if (options_.explicit_start && started_)
        throw spead::Error("stream",
                           "it has been started, and explicit_start is set; add readers before start()");
    if (source_ == Source::readers)
        throw spead::UsageError("stream", "it has readers; make another stream for a port");
    if (stopped_)
        return;
    if (source_ == Source::port) {
        if (options_.config.interface != interface)
            throw spead::UsageError("stream", "it receives from " + options_.config.interface +
                                                  "; make another stream for " + interface);
        const Using use(waiting_);
        without_gil([&] {
            for (const std::string& e : endpoints)
                stream_->add_endpoint(e);
        });
        return;
    }
    spead::RecvConfig config = options_.config;
    config.interface = interface;
    config.endpoints = endpoints;
    config.buffer_size = buffer_size;
    config.max_packet_size = max_size;
    config.memory = options_.port_memory;
    config.poll = busy ? spead::Poll::busy : spead::Poll::adaptive;
    // A port's queue is short: what waits here is not lost there.
    config.queue_depth = std::max<std::uint32_t>(config.queue_depth, 64);
    config.start = !options_.explicit_start;
    stream_.emplace(without_gil([&] { return spead::RecvStream(spead::Process::shared(), config); }));
    options_.config = config;
    facts_->most_bytes = config.memory / 4;
    started_ = config.start;
    source_ = Source::port;
    show();
}

void HeapStream::need_port() const {
    if (source_ != Source::port)
        throw spead::UsageError("stream", "only a stream of a port has endpoints; add a reader");
    if (!stream_)
        throw spead::Error("stream", "it was closed; make another one");
}

void HeapStream::add_endpoint(const std::string& endpoint, const std::string& twin) {
    need_open();
    const Turn turn(change_);
    need_port();
    const Using use(waiting_);
    without_gil([&] { stream_->add_endpoint(endpoint, twin); });
}

void HeapStream::remove_endpoint(const std::string& endpoint) {
    need_open();
    const Turn turn(change_);
    need_port();
    const Using use(waiting_);
    without_gil([&] { stream_->remove_endpoint(endpoint); });
}

void HeapStream::start() {
    need_open();
    const Turn turn(change_);
    if (!options_.explicit_start || started_ || stopped_)
        return;
    if (stream_) {
        const Using use(waiting_);
        without_gil([this] { stream_->start(); });
    }
    started_ = true;
}

void HeapStream::stop() {
    need_open();
    const Turn turn(change_);
    const bool first = !std::exchange(stopped_, true);
    if (first && stream_) {
        const Using use(waiting_);
        without_gil([this] { stream_->stop(); });
    }
    show();
}

void HeapStream::close() {
    if (!mark_.is_own() || std::exchange(closed_, true))
        return;
    stop();
    held_.clear();
    const auto until = std::chrono::steady_clock::now() + kPatience;
    without_gil([&] {
        // Threads see closed_ at their next turn.
        while (std::chrono::steady_clock::now() < until) {
            {
                const py::gil_scoped_acquire gil;
                if (waiting_ == 0)
                    return;
            }
            std::this_thread::sleep_for(1ms);
        }
    });
    if (waiting_ == 0)
        end_stream();
}

/// Returns whether the user gets the heap.
bool HeapStream::is_wanted(const spead::Heap& heap) const noexcept {
    if (options_.contiguous_only && !heap.contiguous())
        return false;
    return !(options_.config.stop_on_stop_item && heap.is_end_of_stream());
}

/// Takes a heap that is wanted, if one waits.
std::optional<spead::Heap> HeapStream::fetch() {
    while (stream_) {
        std::optional<spead::Heap> heap = stream_->try_get();
        if (!heap || is_wanted(*heap))
            return heap;
    }
    return std::nullopt;
}

std::optional<spead::Heap> HeapStream::take() {
    std::optional<spead::Heap> heap;
    if (held_.empty()) {
        heap = fetch();
    } else {
        heap = std::move(held_.front());
        held_.pop_front();
    }
    if (fd_ >= 0)
        show();
    return heap;
}

/// Makes fd() readable if a heap waits or the stream has ended, and unreadable otherwise.
void HeapStream::show() {
    if (fd_ < 0)
        return;
    if (stream_ && !std::exchange(is_watched_, true)) {
        epoll_event event{};
        event.events = EPOLLIN;
        ::epoll_ctl(fd_, EPOLL_CTL_ADD, stream_->fd(), &event);
    }
    if (held_.empty())
        if (std::optional<spead::Heap> heap = fetch())
            held_.push_back(std::move(*heap));
    const bool ready = !held_.empty() || ended();
    if (ready == is_ready_)
        return;
    eventfd_t count = 0;
    if (ready)
        ::eventfd_write(ready_, 1);
    else
        ::eventfd_read(ready_, &count);
    is_ready_ = ready;
}

int HeapStream::fd() {
    need_open();
    if (fd_ >= 0)
        return fd_;
    Descriptor ready(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    Descriptor all(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{};
    event.events = EPOLLIN;
    if (ready.get() < 0 || all.get() < 0 || ::epoll_ctl(all.get(), EPOLL_CTL_ADD, ready.get(), &event) != 0)
        throw spead::Error("stream", "cannot make a descriptor; raise the limit of descriptors (ulimit -n)");
    ready_ = ready.release();
    fd_ = all.release();
    show();
    return fd_;
}

/// Returns a waiting heap; None: there is none; null: none will come.
py::object HeapStream::try_take() {
    need_open();
    if (closed_)
        return {};
    if (std::optional<spead::Heap> heap = take())
        return to_python(std::move(*heap), facts_);
    return ended() ? py::object() : py::none();
}

/// Waits for a heap; null: none will come.
py::object HeapStream::wait() {
    for (;;) {
        if (py::object heap = try_take(); !heap || !heap.is_none())
            return heap;
        std::optional<spead::Heap> heap;
        {
            const Using use(waiting_);
            without_gil([&heap, stream = stream_ ? &*stream_ : nullptr] {
                if (stream != nullptr)
                    heap = stream->get_for(kSlice);
                else
                    std::this_thread::sleep_for(kSlice / 10);
            });
        }
        if (heap && !is_wanted(*heap))
            heap.reset();
        if (PyErr_CheckSignals() != 0) {
            // It came before those that show() has taken since.
            if (heap)
                held_.push_front(std::move(*heap));
            show();
            throw py::error_already_set();
        }
        if (heap) {
            if (fd_ >= 0)
                show();
            return to_python(std::move(*heap), facts_);
        }
    }
}

py::object HeapStream::try_get() {
    py::object heap = try_take();
    if (!heap)
        raise_stopped();
    return heap;
}

py::object HeapStream::get() {
    py::object heap = wait();
    if (!heap)
        raise_stopped();
    return heap;
}

py::object HeapStream::next() {
    py::object heap = wait();
    if (!heap)
        throw py::stop_iteration();
    return heap;
}

bool HeapStream::ended() const {
    if (!held_.empty())
        return false;
    // One that never began has no end of its own.
    return stream_ && started_ ? stream_->ended() : stopped_;
}

spead::RecvStats HeapStream::stats() const {
    need_open();
    if (!stream_)
        return {};
    const Using use(const_cast<int&>(waiting_));
    return without_gil([this] { return stream_->stats(); });
}

namespace {

/// Ends all streams, before the interpreter does.
void close_streams() {
    std::vector<py::object> all;
    for (HeapStream* const stream : all_streams())
        all.push_back(py::cast(stream, py::return_value_policy::reference));
    for (const py::object& stream : all)
        py::cast<HeapStream&>(stream).close();
}

std::vector<std::string> texts(const py::iterable& all) {
    std::vector<std::string> out;
    for (const py::handle text : all)
        out.push_back(py::cast<std::string>(text));
    return out;
}

}  // namespace

void define_heap_stream(py::module_& m) {
    py::class_<HeapStream>(m, "HeapStream", "Receives heaps.")
        .def(py::init(
            [](const py::kwargs& settings) { return std::make_unique<HeapStream>(options_of(settings)); }))
        .def("add_reader", &HeapStream::add_reader, py::arg("reader"))
        .def(
            "add_port",
            [](HeapStream& s, const std::string& interface, const py::iterable& endpoints,
               std::size_t buffer_size, std::uint32_t max_size,
               bool busy) { s.add_port(interface, texts(endpoints), buffer_size, max_size, busy); },
            py::arg("interface"), py::arg("endpoints"), py::arg("buffer_size"), py::arg("max_size"),
            py::arg("busy"))
        .def("add_endpoint", &HeapStream::add_endpoint, py::arg("endpoint"), py::arg("twin") = "")
        .def("remove_endpoint", &HeapStream::remove_endpoint, py::arg("endpoint"))
        .def("start", &HeapStream::start)
        .def("stop", &HeapStream::stop)
        .def("get", &HeapStream::get)
        .def("try_get", &HeapStream::try_get)
        .def("__iter__", [](py::object stream) { return stream; })
        .def("__next__", &HeapStream::next)
        .def("fd", &HeapStream::fd)
        .def("ended", &HeapStream::ended)
        .def("counters", [](const HeapStream& s) { return counts_of(s.stats(), s.facts()); })
        .def("waiting", [](const HeapStream& s) { return s.stats().heaps_waiting + s.in_hand(); });
    py::module_::import("atexit").attr("register")(py::cpp_function(&close_streams));
}

}  // namespace spead::python
