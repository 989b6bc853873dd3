// SPDX-License-Identifier: BSD-3-Clause
#include "base/file_use.hpp"

#include <array>
#include <atomic>
#include <barrier>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <optional>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

namespace spead {
namespace {

namespace fs = std::filesystem;
using spead::test::ScratchDirectory;
using Way = FileUse::Way;

/// Expects that `action` throws Error, and no UsageError. Its text must hold every one of `parts`.
template <typename Action>
void expect_error(Action action, std::initializer_list<std::string_view> parts) {
    try {
        action();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const UsageError& error) {
        ADD_FAILURE() << "a UsageError: " << error.what();
    } catch (const Error& error) {
        for (const std::string_view part : parts)
            EXPECT_NE(std::string_view(error.what()).find(part), std::string::npos)
                << "`" << part << "` is not in: " << error.what();
    }
}

FileDescriptor opened(const std::string& path, int flags = O_RDWR | O_CREAT) {
    FileDescriptor file(open(path.c_str(), flags | O_CLOEXEC, 0666));
    EXPECT_TRUE(file) << path;
    return file;
}

TEST(FileIdentity, IsThatOfTheFileHoweverItIsSpelled) {
    const ScratchDirectory scratch;
    const std::string file = scratch.file("file");
    std::ofstream(file) << "x";
    fs::create_directory(scratch.file("sub"));
    fs::create_symlink("file", scratch.file("link"));
    fs::create_hard_link(file, scratch.file("sub/hard"));
    fs::create_directory_symlink(".", scratch.file("here"));
    for (const char* const other : {"file", "./file", "sub/../file", "link", "sub/hard", "here/file"})
        EXPECT_TRUE(same_file(file, scratch.file(other))) << other;
    std::ofstream(scratch.file("other")) << "x";
    for (const char* const other : {"other", "none", "sub", "sub/file"})
        EXPECT_FALSE(same_file(file, scratch.file(other))) << other;
}

TEST(FileIdentity, OfAFileThatIsNotThereIsItsPlace) {
    const ScratchDirectory scratch;
    fs::create_directory(scratch.file("sub"));
    fs::create_directory_symlink("sub", scratch.file("way"));
    fs::create_symlink("sub/new", scratch.file("dangling"));
    fs::create_symlink(scratch.file("dangling"), scratch.file("twice"));
    for (const char* const other : {"sub/new", "way/new", "sub/../sub/new", "dangling", "twice"})
        EXPECT_TRUE(same_file(scratch.file("sub/new"), scratch.file(other))) << other;
    EXPECT_FALSE(same_file(scratch.file("sub/new"), scratch.file("new")));
    EXPECT_FALSE(same_file(scratch.file("sub/new"), scratch.file("sub")));
    EXPECT_TRUE(same_file("no/such/file", "./no/such/../such/file"));
    EXPECT_FALSE(same_file("no/such/file", "no/such/other"));
    // A link that leads to itself is only itself.
    fs::create_symlink("self", scratch.file("self"));
    EXPECT_TRUE(same_file(scratch.file("self"), scratch.file("./self")));
    EXPECT_FALSE(same_file(scratch.file("self"), scratch.file("sub")));
}

TEST(FileUse, ReadersShareAndAppendersShareAndNobodyElse) {
    const ScratchDirectory scratch;
    const std::string file = scratch.file("file");
    const std::string link = scratch.file("link");
    std::ofstream(file) << "x";
    fs::create_symlink("file", link);
    for (const Way first : {Way::read, Way::write, Way::append})
        for (const Way second : {Way::read, Way::write, Way::append}) {
            const FileUse use(file, first, "port p0 has", "there");
            const auto begin = [&] { const FileUse other(link, second, "port p1 has", "here"); };
            if (first == second && first != Way::write)
                begin();
            else
                expect_error(begin, {"here: ", link, "is the same file as " + file, "which port p0 has"});
        }
    const FileUse again(link, Way::write, "port p1 has", "here");
}

TEST(FileUse, OnlyWhatIsReadAnewMayBeReplaced) {
    const ScratchDirectory scratch;
    const std::string file = scratch.file("file");
    std::ofstream(file) << "x";
    const FileUse configuration(file, Way::read_anew, "--config reads", "a");
    for (const Way way : {Way::read, Way::read_anew, Way::replace})
        EXPECT_NO_THROW(FileUse(file, way, "somebody uses", "b"));
    for (const Way way : {Way::write, Way::append})
        expect_error([&] { FileUse(file, way, "somebody writes", "b"); }, {"--config reads it"});
    const FileUse saving(file, Way::replace, "the saving writes", "c");
    for (const Way way : {Way::read, Way::write, Way::append, Way::replace})
        expect_error([&] { FileUse(file, way, "somebody uses", "b"); }, {"it; give another file"});
}

TEST(FileUse, SaysTheNameOnceWhenItIsTheSame) {
    const ScratchDirectory scratch;
    const FileUse use(scratch.file("a"), Way::write, "the capture of s0 writes", "capture of s0");
    expect_error([&] { const FileUse other(scratch.file("a"), Way::write, "x", "capture of s1"); },
                 {"capture of s1: ", "a is in use: the capture of s0 writes it; give another file"});
}

TEST(FileUse, OfAPlanThatCannotWorkIsAMistakeOfTheUser) {
    const ScratchDirectory scratch;
    const FileUse use =
        FileUse::planned(scratch.file("a"), Way::write, "the capture of s0 writes", "capture of s0");
    test::expect_usage_error(
        [&] { const FileUse other = FileUse::planned(scratch.file("a"), Way::write, "x", "capture of s1"); },
        {"capture of s1: ", "a is in use: the capture of s0 writes it"});
}

TEST(FileUse, KnowsAFileThatCameToBeAfterItsNameWasTaken) {
    const ScratchDirectory scratch;
    const FileUse planned(scratch.file("report"), Way::write, "--json writes", "--json");
    const FileDescriptor file = opened(scratch.file("report"));
    fs::create_hard_link(scratch.file("report"), scratch.file("other"));
    expect_error([&] { const FileUse u(file.get(), "report", Way::write, "c", "c"); }, {"--json writes"});
    expect_error([&] { const FileUse u(scratch.file("other"), Way::read, "c", "c"); }, {"--json writes"});
}

TEST(FileUse, OfAnOpenFileIsThatFileWhateverItsNameIsNow) {
    const ScratchDirectory scratch;
    const FileDescriptor file = opened(scratch.file("a"));
    FileUse use(file.get(), scratch.file("a"), Way::write, "the capture of s0 writes", "c");
    fs::rename(scratch.file("a"), scratch.file("b"));
    expect_error([&] { const FileUse u(scratch.file("b"), Way::write, "x", "x"); }, {"the capture of s0"});
    const FileUse fresh(scratch.file("a"), Way::write, "x", "x");
    // Once it is closed, it is what its name leads to, if that is still the same.
    use.closed();
    const FileUse renamed(scratch.file("b"), Way::write, "x", "x");
}

TEST(FileUse, OfAClosedFileIsHeldUntilItEndsAndNotLonger) {
    const ScratchDirectory scratch;
    std::optional<FileUse> use;
    {
        const FileDescriptor file = opened(scratch.file("a"));
        use.emplace(file.get(), scratch.file("a"), Way::write, "the capture of s0 writes", "c");
        use->closed();
    }
    expect_error([&] { const FileUse u(scratch.file("a"), Way::write, "x", "x"); }, {"the capture of s0"});
    // Its inode may be another file's by now.
    fs::remove(scratch.file("a"));
    const FileDescriptor other = opened(scratch.file("b"));
    const FileUse reused(other.get(), scratch.file("b"), Way::write, "x", "x");
    FileUse moved = std::move(*use);
    use.reset();
    moved = FileUse();
    std::ofstream(scratch.file("a")) << "x";
    const FileUse again(scratch.file("a"), Way::write, "x", "x");
}

TEST(FileUse, CountsRegularFilesOnly) {
    const FileUse one("/dev/null", Way::write, "x", "x");
    const FileUse two("/dev/null", Way::write, "y", "y");
    const FileDescriptor file = opened("/dev/null", O_WRONLY);
    const FileUse three(file.get(), "/dev/null", Way::write, "z", "z");
}

/// Runs an action in another process. Returns the text of its Error, or "done".
std::string elsewhere(const std::function<void()>& action) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        std::string said = "done";
        try {
            action();
        } catch (const std::exception& error) {
            said = error.what();
        }
        [[maybe_unused]] const ssize_t n = write(ends[1], said.data(), said.size());
        _exit(0);
    }
    close(ends[1]);
    std::string said(1000, '\0');
    const ssize_t n = read(ends[0], said.data(), said.size());
    said.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    close(ends[0]);
    EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
    return said;
}

/// Locks a file, and makes no FileUse of it. A child inherits the table of uses, and must see the lock alone.
class LockedHere {
  public:
    LockedHere(const std::string& path, short type, off_t start, off_t length, int flags = O_RDWR)
        : file_(opened(path, flags)) {
        struct flock lock {};
        lock.l_type = type;
        lock.l_start = start;
        lock.l_len = length;
        EXPECT_EQ(fcntl(file_.get(), F_OFD_SETLK, &lock), 0);
    }

  private:
    FileDescriptor file_;
};

std::function<void()> uses(const std::string& path, Way way, bool* alone = nullptr) {
    return [=] {
        const FileDescriptor file = opened(path);
        const FileUse use(file.get(), path, way, "x", "here");
        if (alone != nullptr)
            *alone = use.alone();
    };
}

TEST(FileUse, KeepsOtherProcessesOut) {
    const ScratchDirectory scratch;
    const std::string path = scratch.file("a");
    // The child holds it until the parent has asked.
    int up[2];
    int down[2];
    ASSERT_EQ(pipe(up) + pipe(down), 0);
    for (const Way first : {Way::write, Way::append}) {
        const pid_t pid = fork();
        if (pid == 0) {
            const FileDescriptor file = opened(path);
            const FileUse use(file.get(), path, first, "x", "there");
            char c = 'x';
            _exit(write(up[1], &c, 1) == 1 && read(down[0], &c, 1) == 1 ? 0 : 1);
        }
        char c = 0;
        ASSERT_EQ(read(up[0], &c, 1), 1);
        const auto said = [&](Way second) {
            try {
                uses(path, second)();
            } catch (const Error& error) {
                return std::string(error.what());
            }
            return std::string("done");
        };
        EXPECT_EQ(said(Way::write), "here: another process is writing " + path +
                                        "; give another file, or end that process first");
        EXPECT_EQ(said(Way::read), "done");
        if (first == Way::write) {
            EXPECT_NE(said(Way::append), "done");
        } else {
            bool alone = true;
            uses(path, Way::append, &alone)();
            EXPECT_FALSE(alone);
        }
        ASSERT_EQ(write(down[1], &c, 1), 1);
        int status = 1;
        ASSERT_EQ(waitpid(pid, &status, 0), pid);
        EXPECT_EQ(status, 0);
        bool alone = false;
        uses(path, Way::append, &alone)();
        EXPECT_TRUE(alone);
    }
    for (const int fd : {up[0], up[1], down[0], down[1]})
        close(fd);
}

TEST(FileUse, OneAtMostOfThoseThatBeginTogetherIsAlone) {
    const ScratchDirectory scratch;
    const std::string path = scratch.file("a");
    std::array<bool, 2> alone{};
    std::barrier together(2);
    const auto append = [&](std::size_t i) {
        for (int round = 0; round < 1000; round++) {
            const FileDescriptor file = opened(path);
            together.arrive_and_wait();
            {
                // Locks belong to open files, as if these were two processes.
                const FileUse use(file.get(), path, Way::append, "x", "here");
                alone[i] = use.alone();
                together.arrive_and_wait();
                if (i == 0) {
                    EXPECT_FALSE(alone[0] && alone[1]) << round;
                }
            }
            together.arrive_and_wait();
        }
    };
    std::thread other(append, 1);
    append(0);
    other.join();
}

TEST(FileUse, IsHinderedByNobodyWhoMayOnlyRead) {
    const ScratchDirectory scratch;
    const std::string path = scratch.file("a");
    opened(path);
    const LockedHere reader(path, F_RDLCK, 0, 0, O_RDONLY);
    EXPECT_EQ(elsewhere(uses(path, Way::write)), "done");
    EXPECT_EQ(elsewhere(uses(path, Way::append)), "done");
}

TEST(FileUse, HeedsAWriterBesideAReader) {
    const ScratchDirectory scratch;
    const std::string path = scratch.file("a");
    opened(path);
    const LockedHere reader(path, F_RDLCK, 0, 1000, O_RDONLY);
    const LockedHere writer(path, F_WRLCK, 1000, 0);
    EXPECT_NE(elsewhere(uses(path, Way::write)), "done");
}

TEST(FileUse, OneOfTwoProcessesThatBeginTogetherMayWrite) {
    constexpr int kRounds = 500;
    struct Shared {
        std::atomic<int> meetings{0};
        std::array<std::atomic<int>, kRounds> writers{};
    };
    void* const memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto& shared = *new (memory) Shared;
    auto meet = [&shared, all = 0]() mutable {
        all += 2;
        for (shared.meetings++; shared.meetings < all;)
            sched_yield();
    };
    const ScratchDirectory scratch;
    const pid_t pid = fork();
    for (std::atomic<int>& writers : shared.writers) {
        const FileDescriptor file = opened(scratch.file("a"));
        meet();
        std::optional<FileUse> use;
        try {
            use.emplace(file.get(), scratch.file("a"), Way::write, "x", "here");
            writers++;
        } catch (const Error&) {
        }
        meet();
    }
    if (pid == 0)
        _exit(0);
    EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
    EXPECT_THAT((std::vector<int>(shared.writers.begin(), shared.writers.end())), testing::Each(1));
    munmap(memory, sizeof(Shared));
}

TEST(AppendTurn, IsOnesAtATimeAndHeldUpByNobodyForLong) {
    const ScratchDirectory scratch;
    const std::string path = scratch.file("a");
    std::atomic<int> inside{0};
    const auto append = [&] {
        for (int round = 0; round < 200; round++) {
            const FileDescriptor file = opened(path);
            const AppendTurn turn(file.get());
            EXPECT_EQ(inside.fetch_add(1), 0);
            std::this_thread::yield();
            inside.fetch_sub(1);
        }
    };
    std::thread other(append);
    append();
    other.join();
    const LockedHere reader(path, F_RDLCK, 0, 0, O_RDONLY);
    const FileDescriptor file = opened(path);
    const AppendTurn without(file.get());
    EXPECT_EQ(elsewhere(uses(path, Way::append)), "done");
}

}  // namespace
}  // namespace spead
