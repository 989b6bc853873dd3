// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>
#include <vector>

#include "app/api/change_words.hpp"
#include "app/prompt/process.hpp"
#include "base/error.hpp"
#include "observe/http_message.hpp"

namespace spead::app {

/// Reports a body that is no JSON object.
class BadBody : public Error {
  public:
    using Error::Error;
};

/// Carries out the changes of the API, as commands of the prompt, and logs each with its client. Also logs
/// each one that it refuses. Any thread.
class ApiChanges {
  public:
    ApiChanges();

    /// Returns the change at a path; null: there is none.
    const ChangePath* find(std::string_view path) const;

    /// Carries out the change that the request's body describes. Throws Error, BadBody too, and has changed
    /// nothing.
    observe::HttpAnswer carry_out(Process& process, const ChangePath& change,
                                  const observe::HttpRequest& request) const;

    /// Ends the process. Waits for nothing: a program that is asked to end must not go on. Throws likewise.
    static observe::HttpAnswer shutdown(Process& process, const ChangePath& change,
                                        const observe::HttpRequest& request);

    /// Changes the process to the configuration in the request's body, if the present one has the version of
    /// If-Match. Throws Error, and has changed nothing.
    static observe::HttpAnswer put_configuration(Process& process, const observe::HttpRequest& request);

  private:
    std::vector<ChangePath> changes_;
    Grammar grammar_;
};

}  // namespace spead::app
