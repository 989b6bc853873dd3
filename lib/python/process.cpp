// SPDX-License-Identifier: BSD-3-Clause
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <pybind11/stl.h>
#include <spead/log.hpp>
#include <spead/process.hpp>
#include <string>
#include <string_view>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "python/parts.hpp"
#include "python/without_gil.hpp"

/// Binds the session, and the log.
namespace spead::python {

namespace py = pybind11;

namespace {

/// Keeps log lines until Python takes them. Lines beyond the limit are counted, not kept.
///
/// Threads of the library add lines, without the GIL. Never destroyed: a thread may log until the end of the
/// operating system process.
class LogLines {
  public:
    static LogLines& instance() {
        static LogLines& one = *new LogLines;
        return one;
    }

    int fd() const noexcept { return fd_; }

    /// Begins anew, in a child of fork(2): the parent has the lines.
    void renew() noexcept {
        const std::lock_guard lock(mutex_);
        close(fd_);
        fd_ = make_fd();
        lines_.clear();
        lost_ = 0;
    }

    void add(Log::Level level, std::string_view line) noexcept {
        try {
            const std::lock_guard lock(mutex_);
            if (lines_.size() >= kMost)
                lost_++;
            else
                lines_.emplace_back(static_cast<int>(level), line);
        } catch (const std::bad_alloc&) {
            lost_++;
        }
        eventfd_write(fd_, 1);
    }

    std::vector<std::pair<int, std::string>> take() {
        eventfd_t count = 0;
        eventfd_read(fd_, &count);
        const std::lock_guard lock(mutex_);
        std::vector<std::pair<int, std::string>> taken(std::make_move_iterator(lines_.begin()),
                                                       std::make_move_iterator(lines_.end()));
        lines_.clear();
        if (const std::uint64_t lost = std::exchange(lost_, 0); lost != 0)
            taken.emplace_back(static_cast<int>(Log::Level::warning),
                               "spead.app: " + std::to_string(lost) + " lines of the log were not kept");
        return taken;
    }

  private:
    static constexpr std::size_t kMost = 4096;

    /// Lets children of fork(2) log, whatever another thread adds at that time. Takes the stream's lock
    /// first, as that thread does: it is registered later (LogStream::install).
    LogLines() noexcept {
        pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                       [] { instance().mutex_.unlock(); });
    }
    static int make_fd() noexcept { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

    int fd_ = make_fd();
    std::mutex mutex_;
    std::deque<std::pair<int, std::string>> lines_;
    std::uint64_t lost_ = 0;
};

void define_log(py::module_& m) {
    m.def(
        "keep_log",
        [] {
            LogLines::instance();
            Log::redirect(
                [](Log::Level level, std::string_view line) { LogLines::instance().add(level, line); });
        },
        "Keeps the log's lines for take_log(), instead of writing them to standard error.");
    m.def(
        "release_log", [] { Log::redirect({}); }, "Writes the log's lines to standard error again.");
    m.def(
        "renew_log", [] { LogLines::instance().renew(); },
        "Forgets the kept lines, and makes another descriptor. For a child of fork(2).");
    m.def(
        "take_log",
        [] {
            py::list lines;
            for (const auto& [level, line] : LogLines::instance().take())
                lines.append(py::make_tuple(
                    level, py::reinterpret_steal<py::str>(PyUnicode_DecodeUTF8(
                               line.data(), static_cast<Py_ssize_t>(line.size()), "replace"))));
            return lines;
        },
        "Takes the kept lines: (level, text), where level is 0 (critical) to 5 (debug).");
    m.def(
        "log_fd", [] { return LogLines::instance().fd(); },
        "Returns a descriptor that is readable while lines are kept.");
    m.def("set_log_level", &Log::set_level, py::arg("level"), "Sets the least level of lines.");
}

std::unique_ptr<Process> start(std::optional<std::string> name, std::optional<unsigned> main_cpu,
                               std::optional<std::vector<unsigned>> lcores, std::optional<std::size_t> memory,
                               std::optional<std::vector<std::string>> eal,
                               std::optional<std::string> log_level) {
    ProcessConfig config = ProcessConfig::from_environment();
    if (name)
        config.name = std::move(*name);
    if (main_cpu)
        config.main_cpu = main_cpu;
    if (lcores)
        config.lcores = std::move(*lcores);
    if (memory)
        config.eal_memory = *memory;
    if (eal)
        config.eal = std::move(*eal);
    if (log_level)
        config.log_level = std::move(*log_level);
    const WithoutGil released;
    return std::make_unique<Process>(config);
}

/// Ends the handle without the GIL: the last one waits for the session's end.
struct ReleasingDelete {
    void operator()(Process* process) const {
        const WithoutGil released;
        delete process;
    }
};

}  // namespace

void define_process(py::module_& m) {
    py::class_<Process, std::unique_ptr<Process, ReleasingDelete>>(
        m, "Process",
        "Owns EAL, the ports, the lcores and the control loop. All handles mean the same session.")
        .def(py::init([](std::optional<std::string> name, std::optional<unsigned> main_cpu,
                         std::optional<std::vector<unsigned>> lcores, std::optional<std::size_t> memory,
                         std::optional<std::vector<std::string>> eal, std::optional<std::string> log_level) {
                 return std::unique_ptr<Process, ReleasingDelete>(start(std::move(name), main_cpu,
                                                                        std::move(lcores), memory,
                                                                        std::move(eal), std::move(log_level))
                                                                      .release());
             }),
             py::kw_only(), py::arg("name") = py::none(), py::arg("main_cpu") = py::none(),
             py::arg("lcores") = py::none(), py::arg("memory") = py::none(), py::arg("eal") = py::none(),
             py::arg("log_level") = py::none(), "Starts the session. Raises Error and UsageError.")
        .def_static(
            "shared",
            [] {
                const WithoutGil released;
                return std::unique_ptr<Process, ReleasingDelete>(new Process(Process::shared()));
            },
            "Returns the session that runs, or starts one from the environment.")
        .def_static(
            "current",
            [] {
                const WithoutGil released;
                std::optional<Process> current = Process::current();
                return std::unique_ptr<Process, ReleasingDelete>(current ? new Process(std::move(*current))
                                                                         : nullptr);
            },
            "Returns the session that runs; None if there is none.")
        .def(
            "stop",
            [](Process& process) {
                const WithoutGil released;
                process.stop();
            },
            "Ends all streams, and then the session. The wait for that is bounded.")
        .def_property_readonly(
            "running",
            [](const Process& process) {
                const WithoutGil released;
                return process.running();
            },
            "Whether the session runs.")
        .def_property_readonly(
            "problems",
            [](const Process& process) {
                const WithoutGil released;
                return process.problems();
            },
            "Why the session ended by itself: sentences; empty while it has not.")
        .def(
            "apply",
            [](Process& process, const std::string& plan, const std::string& name) {
                const WithoutGil released;
                process.apply(plan, name);
            },
            py::arg("plan"), py::arg("name") = "plan",
            "Runs a configuration's streams and senders beside those of this program; see dpdk_spead.run().")
        .def(
            "report",
            [](const Process& process) {
                const WithoutGil released;
                return process.report();
            },
            "Returns all counters as JSON.");
    m.def("dpdk_version", &Process::dpdk_version, "Returns the version of DPDK that is loaded.");
    define_log(m);
}

}  // namespace spead::python
