// SPDX-License-Identifier: BSD-3-Clause
#include "sink/dada_header.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace spead::sink {

namespace {

constexpr std::size_t kLargestTemplate = std::size_t{1} << 20;
constexpr std::string_view kBlanks = " \t\r";

/// Returns the first word, and removes it and the blanks around it from the line.
std::string_view take_word(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
    line.remove_prefix(word.size());
    return word;
}

std::string_view key_of(std::string_view line) {
    const std::string_view word = take_word(line);
    return word.starts_with('#') ? std::string_view() : word;
}

std::string line_of(const DadaHeader::Value& value) {
    return fmt::format("{:<20} {}", value.key, value.text);
}

}  // namespace

DadaHeader::DadaHeader(std::string text, const std::string& where) {
    for (std::size_t i = 0; i < text.size(); i++)
        if (const auto c = static_cast<unsigned char>(text[i]);
            c < ' ' && c != '\n' && c != '\t' && c != '\r')
            throw_usage(where,
                        "byte {} is {:#04x}, which no header has; give a text with a key and a value on "
                        "each line",
                        i, c);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines_.push_back(text.substr(0, end));
        text.erase(0, end + 1);
    }
}

DadaHeader DadaHeader::read(const std::string& path) {
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat facts {};
    if (!file || fstat(file.get(), &facts) != 0)
        throw_error(path, "cannot read the header's template: {}", std::strerror(errno));
    if (!S_ISREG(facts.st_mode))
        throw_error(path, "cannot read the header's template: it is no file");
    std::string text(kLargestTemplate + 1, '\0');
    std::size_t size = 0;
    for (;;) {
        const ssize_t n = ::read(file.get(), text.data() + size, text.size() - size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            throw_error(path, "cannot read the header's template: {}", std::strerror(errno));
        if (n == 0)
            break;
        size += static_cast<std::size_t>(n);
    }
    if (size > kLargestTemplate)
        throw_usage(path, "a header's template has at most {} bytes, and this has more", kLargestTemplate);
    text.resize(size);
    return {std::move(text), path};
}

std::optional<std::string> DadaHeader::value(std::string_view key) const {
    for (const std::string& line : lines_) {
        std::string_view rest = line;
        if (take_word(rest) == key)
            return std::string(take_word(rest));
    }
    return std::nullopt;
}

std::string DadaHeader::with(std::span<const Value> values) const {
    std::string header;
    std::vector<bool> done(values.size());
    for (const std::string& line : lines_) {
        const auto same = [&line](const Value& value) { return value.key == key_of(line); };
        const auto found = std::find_if(values.begin(), values.end(), same);
        const auto index = static_cast<std::size_t>(found - values.begin());
        if (found != values.end() && done[index])
            continue;
        if (found != values.end())
            done[index] = true;
        header += (found == values.end() ? line : line_of(*found)) + '\n';
    }
    for (std::size_t i = 0; i < values.size(); i++)
        if (!done[i])
            header += line_of(values[i]) + '\n';
    return header;
}

}  // namespace spead::sink
