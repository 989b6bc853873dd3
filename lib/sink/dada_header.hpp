// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spead::sink {

/// Makes the headers of PSRDADA: a text of lines, each with a key, blanks and a value. `#` begins a comment.
class DadaHeader {
  public:
    struct Value {
        std::string_view key;
        std::string text;  ///< without blanks
    };

    /// Makes headers without a template.
    DadaHeader() = default;
    /// Takes the lines of a template. Throws UsageError for a byte that no text has, with `where`.
    DadaHeader(std::string text, const std::string& where);
    /// Reads a template. Throws Error when it cannot be read, and UsageError when it is no template.
    static DadaHeader read(const std::string& path);

    /// Returns the value of a key in the template; none: it has no such line.
    std::optional<std::string> value(std::string_view key) const;
    /// Returns the template with these values: in the place of the ones that it has, others at the end.
    std::string with(std::span<const Value> values) const;

  private:
    std::vector<std::string> lines_;
};

}  // namespace spead::sink
