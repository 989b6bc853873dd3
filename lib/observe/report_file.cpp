// SPDX-License-Identifier: BSD-3-Clause
#include "observe/report_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/open_output.hpp"
#include "base/tell.hpp"

namespace spead::observe {

namespace {

bool is_file(const std::string& path) {
    return !path.empty() && path != "-";
}

/// Writes the text. Returns false, with errno set.
bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0)
            text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

}  // namespace

FileUse claim_report(const std::string& path, const std::string& option) {
    return is_file(path) ? FileUse::planned(path, FileUse::Way::write, option + " writes", option)
                         : FileUse();
}

void check_writable(const std::string& path) {
    if (!is_file(path))
        return;
    OpenedOutput opened = open_output(path, O_NONBLOCK | O_EXCL);
    if (opened.file)
        // A start that fails leaves no empty report.
        return remove_output(path, opened.file.get());
    if (opened.error == EEXIST)
        opened = open_output(path, O_NONBLOCK);
    // The reader of a pipe may open it later.
    if (!opened.file && opened.error != ENXIO)
        throw_error(path, "cannot write the report here: {}", opened.reason);
}

void write_file(const std::string& path, const std::string& text) {
    if (path == "-") {
        tell(stdout, "{}\n", text);
        return;
    }
    const OpenedOutput opened = open_output(path, O_NONBLOCK);
    if (!opened.file)
        throw_error(path, "cannot write the results: {}",
                    opened.error == ENXIO ? "the pipe has no reader" : opened.reason);
    const int fd = opened.file.get();
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    struct stat facts {};
    const bool regular = ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
    if ((regular && ::ftruncate(fd, 0) != 0) || !write_all(fd, text + '\n'))
        throw_error(path, "cannot write the results: {}", std::strerror(errno));
}

}  // namespace spead::observe
