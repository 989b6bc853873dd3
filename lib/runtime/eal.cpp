// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/eal.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <optional>
#include <set>
#include <string_view>
#include <unistd.h>

#include <fmt/ranges.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_memory.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/log_stream.hpp"
#include "base/units.hpp"
#include "port/log_capture.hpp"
#include "runtime/descriptors.hpp"
#include "runtime/layout.hpp"
#include "runtime/output_capture.hpp"
#include "runtime/runtime_dir.hpp"

namespace spead::runtime {

namespace {

std::atomic<bool> initialised{false};

/// Counts the descriptors of EAL, one port and the program. A plan with many streams adds its own need.
constexpr std::size_t kDescriptors = 64;
/// Counts the threads beside lcores: EAL's interrupts, telemetry and alarms, and the program's consumer,
/// feeder and prompt.
constexpr std::size_t kThreads = 8;

bool runs_on(unsigned lcore, unsigned cpu) {
    const rte_cpuset_t set = rte_lcore_cpuset(lcore);
    return cpu < CPU_SETSIZE && CPU_ISSET(cpu, &set);
}

std::set<unsigned> cpus_of(unsigned lcore) {
    std::set<unsigned> cpus;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (runs_on(lcore, cpu))
            cpus.insert(cpu);
    return cpus;
}

bool asks_for_help(const std::vector<std::string>& words) {
    return std::any_of(words.begin(), words.end(), [](const std::string& w) {
        return w == "-h" || w == "--help" || w == "-v" || w == "--version";
    });
}

bool takes_huge_pages(const std::vector<std::string>& words) {
    return std::find(words.begin(), words.end(), "--no-huge") == words.end();
}

/// Returns NAME of the last --file-prefix, if that is NAME.PID of this process; else empty.
std::string prefix_of(const std::vector<std::string>& words) {
    std::string prefix;
    for (std::size_t i = 0; i + 1 < words.size(); i++)
        if (words[i] == "--file-prefix")
            prefix = words[i + 1];
    const std::string own = fmt::format(".{}", getpid());
    return prefix.ends_with(own) ? prefix.substr(0, prefix.size() - own.size()) : std::string();
}

/// Returns how many lcores the arguments ask for, as far as that is known before EAL reads them.
std::size_t lcores_of(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i + 1 < words.size(); i++)
        if (words[i] == "--lcores" || words[i] == "-l")
            return 1 + static_cast<std::size_t>(std::count(words[i + 1].begin(), words[i + 1].end(), ','));
    return allowed_cpus().size();
}

std::string value_of(const std::vector<std::string>& words, std::string_view option) {
    const auto found = std::find(words.begin(), words.end(), option);
    return found == words.end() || found + 1 == words.end() ? std::string() : *(found + 1);
}

void erase_option(std::vector<std::string>& words, std::string_view option) {
    if (const auto found = std::find(words.begin(), words.end(), option);
        found != words.end() && found + 1 != words.end())
        words.erase(found, found + 2);
}

unsigned first_cpu(unsigned lcore) {
    const std::set<unsigned> cpus = cpus_of(lcore);
    return cpus.empty() ? 0 : *cpus.begin();
}

}  // namespace

Eal::Eal(const std::vector<std::string>& arguments, Owner owner) {
    if (initialised.load())
        throw_error("EAL", "EAL was initialised before in this process, and can be initialised only once");
    need_descriptors(kDescriptors);
    need_threads(lcores_of(arguments) + kThreads);
    LogStream::install();
    // EAL keeps pointers into its arguments and reorders them; a refusal may have left some of the last try.
    // Never destroyed: its lcores run until the process has ended.
    struct Arguments {
        std::vector<std::string> words;
        std::vector<char*> pointers;
    };
    static auto& tries = *new std::deque<Arguments>;
    Arguments& given = tries.emplace_back();
    std::vector<std::string>& words = given.words;
    std::vector<char*>& pointers = given.pointers;
    words = arguments;
    words.insert(words.begin(), "dpdk-spead");
    // The lcores that EAL has read at a failed try.
    static auto& lcores_read = *new std::string;
    const std::string lcores = value_of(words, "--lcores");
    if (!lcores_read.empty()) {
        if (lcores != lcores_read)
            throw_error("EAL",
                        "EAL's last start failed after it had taken the lcores {}, which it keeps; ask for "
                        "the same lcores, or restart the process",
                        lcores_read);
        erase_option(words, "--lcores");
    }
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    // Handlers registered before EAL starts are called after EAL's own: then the directory is unused.
    if (tries.size() == 1)
        static_cast<void>(std::atexit(remove_directory));
    remove_dead_directories(eal_directory(), prefix_of(words));
    port::LogCapture log;
    // EAL logs every size that it cannot use; free pages were checked before.
    log.leave_out("hugepages reported on node");
    std::optional<OutputCapture> output;
    if (owner == Owner::program && !asks_for_help(words))
        output.emplace();
    const int used = rte_eal_init(static_cast<int>(words.size()), pointers.data());
    if (used >= 0) {
        initialised = true;
        // EAL moves what is no option behind those that are, and says nothing.
        if (const std::size_t first = static_cast<std::size_t>(used) + 1; first < words.size())
            throw_usage("EAL", "`{}` is not an option of EAL; give only EAL's options before `--`",
                        pointers[first]);
        return;
    }
    const std::string reason = log.take_reason();
    if (rte_errno == EALREADY)
        throw_error("EAL",
                    "other code of this process initialised EAL before, and it can be initialised only once");
    // They stand before the user's words, which are refused most often.
    lcores_read = lcores;
    // A wrong option is named on standard error only, before a page of usage on standard output.
    std::vector<std::string> said = output ? output->take_errors() : std::vector<std::string>();
    std::erase_if(said, [](const std::string& line) { return line.find("option") == std::string::npos; });
    if (!said.empty())
        throw_usage("EAL", "it refuses to start: {}", fmt::join(said, "; "));
    throw_error("EAL", "it refuses to start: {}{}", reason.empty() ? rte_strerror(rte_errno) : reason,
                takes_huge_pages(words)
                    ? fmt::format("; huge pages: {}", describe(huge_memory(port::this_machine())))
                    : "");
}

bool Eal::runs() noexcept {
    return initialised.load();
}

void Eal::remove_directory() noexcept {
    const std::string_view path = rte_eal_get_runtime_dir();
    if (path.ends_with(fmt::format(".{}", getpid())))
        remove_directory_of_eal(std::string(path));
}

std::string Eal::pages() {
    std::set<std::uint64_t> sizes;
    rte_memseg_list_walk(
        [](const rte_memseg_list* list, void* found) {
            // External memory is what was registered with EAL, and not EAL's.
            if (list->external == 0 && list->memseg_arr.count > 0)
                static_cast<std::set<std::uint64_t>*>(found)->insert(list->page_sz);
            return 0;
        },
        &sizes);
    std::vector<std::string> names;
    names.reserve(sizes.size());
    for (const std::uint64_t size : sizes)
        names.push_back(human_size(size));
    const std::string all = fmt::format("{}", fmt::join(names, " and "));
    return rte_eal_has_hugepages() != 0 ? "huge pages of " + all : all + " pages";
}

std::vector<unsigned> Eal::worker_lcores() {
    std::vector<unsigned> ids;
    unsigned id = 0;
    RTE_LCORE_FOREACH_WORKER(id) {
        ids.push_back(id);
    }
    return ids;
}

Eal::Cpus Eal::cpus() {
    Cpus cpus;
    cpus.main = first_cpu(rte_get_main_lcore());
    for (const unsigned lcore : worker_lcores())
        cpus.workers.push_back(first_cpu(lcore));
    return cpus;
}

void use_lcores_of_eal(Layout& layout, const EalOptions& options) {
    if (!options.has_lcores)
        return;
    const std::vector<unsigned> ids = Eal::worker_lcores();
    layout.main_lcore = rte_get_main_lcore();
    layout.main_cpu = first_cpu(layout.main_lcore);
    if (layout.workers.size() > ids.size())
        throw_error("EAL",
                    "too few lcores: {} {} needed beside the main lcore {}, and -l or --lcores gives "
                    "{}; add lcores, or leave the choice to the program",
                    counted(layout.workers.size(), "workers"), word_for(layout.workers.size(), "is", "are"),
                    layout.main_lcore, ids.size());

    // First those on the CPUs that the plan names, then those with a match by chance, then the rest.
    std::vector<unsigned> unused = ids;
    std::vector<WorkerLayout*> unplaced;
    for (WorkerLayout& w : layout.workers)
        unplaced.push_back(&w);
    std::stable_sort(unplaced.begin(), unplaced.end(),
                     [](const WorkerLayout* a, const WorkerLayout* b) { return a->named > b->named; });
    std::erase_if(unplaced, [&unused](WorkerLayout* w) {
        const auto there = std::find_if(unused.begin(), unused.end(),
                                        [w](unsigned lcore) { return runs_on(lcore, w->cpu); });
        if (there == unused.end()) {
            if (w->named)
                throw_error("EAL",
                            "the plan names CPU {}, and -l or --lcores gives no worker lcore on it: {}; "
                            "change one or the other",
                            w->cpu, fmt::join(Eal::worker_lcores(), ","));
            return false;
        }
        w->lcore = *there;
        unused.erase(there);
        return true;
    });
    for (WorkerLayout* const w : unplaced) {
        w->lcore = unused.front();
        w->cpu = first_cpu(w->lcore);
        unused.erase(unused.begin());
    }

    std::set<unsigned> cpus = cpus_of(layout.main_lcore);
    std::size_t apart = cpus.size();
    for (const WorkerLayout& w : layout.workers) {
        cpus.merge(cpus_of(w.lcore));
        apart += cpus_of(w.lcore).size();
    }
    layout.shares_cpus = apart != cpus.size();
}

}  // namespace spead::runtime
