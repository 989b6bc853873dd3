// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/units.hpp"
#include "sink/raw_writer.hpp"

// Writes records with the raw sink's writer, one writer for each directory, as fast as the disks take them.
// For scripts/bench-sinks.
namespace {

using spead::sink::RawFile;
using spead::sink::RawWriter;

constexpr const char* kFile = "raw-bench.raw";

/// Holds a writer, and its one file, which goes away with it.
class Target {
  public:
    Target(std::string directory, const RawWriter::Options& options)
        : path_(std::move(directory) + '/' + kFile), writer_(options, hooks()) {}
    ~Target() { unlink(path_.c_str()); }
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;

    RawWriter& writer() { return writer_; }

  private:
    RawWriter::Hooks hooks() {
        RawWriter::Hooks hooks;
        hooks.open = [this] {
            spead::FileDescriptor file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
            if (!file)
                spead::throw_error(path_, "{}", std::strerror(errno));
            return std::make_shared<RawFile>(std::move(file), kFile);
        };
        hooks.remove = [](const RawFile&) {};
        hooks.append = [](std::span<const RawWriter::Note> notes, std::uint64_t& written) {
            written = notes.size();
            return 0;
        };
        hooks.failed = [this](const std::string&, int error) {
            fmt::print(stderr, "{}: {}\n", path_, std::strerror(error));
            std::exit(1);
        };
        hooks.no_direct = [this] { fmt::print(stderr, "{}: through the page cache\n", path_); };
        return hooks;
    }

    std::string path_;
    RawWriter writer_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        fmt::print(stderr, "usage: raw-bench BYTES RECORD DIRECTORY...\n");
        return 2;
    }
    try {
        const std::uint64_t bytes = spead::parse_size(argv[1]);
        const std::vector<std::byte> record(spead::parse_size(argv[2]), std::byte{0x5a});
        std::deque<Target> targets;
        for (int i = 3; i < argc; i++)
            targets.emplace_back(argv[i], RawWriter::Options{});
        const std::span<const std::byte> part = record;
        const auto begin = std::chrono::steady_clock::now();
        std::uint64_t written = 0;
        for (std::size_t i = 0; written < bytes; i++, written += record.size())
            targets[i % targets.size()].writer().add(
                {&part, 1}, [](const RawFile*, std::uint64_t) { return std::string(); }, [](bool) {});
        for (Target& target : targets)
            target.writer().finish();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        fmt::print("{{\"bytes\": {}, \"seconds\": {:.6f}, \"pwrite\": {}}}\n", written, took.count(),
                   !targets.front().writer().why_pwrite().empty());
    } catch (const std::exception& error) {
        fmt::print(stderr, "raw-bench: {}\n", error.what());
        return 1;
    }
    return 0;
}
