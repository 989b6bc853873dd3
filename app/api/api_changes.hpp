// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>
#include <vector>

#include "app/api/change_words.hpp"
#include "app/prompt/process.hpp"
#include "observe/http_message.hpp"

namespace spead::app {

/// Carries out the changes of the API, as commands of the prompt, and logs each with its client. One thread.
class ApiChanges {
  public:
    ApiChanges();

    /// Returns the change at a path; null: there is none.
    const ChangePath* find(std::string_view path) const;

    /// Carries out the change that the request's body describes. Throws Error, and has changed nothing.
    observe::HttpAnswer carry_out(Process& process, const ChangePath& change,
                                  const observe::HttpRequest& request) const;

    /// Changes the process to the configuration in the request's body, if the present one has the version of
    /// If-Match. Throws Error, and has changed nothing.
    static observe::HttpAnswer put_configuration(Process& process, const observe::HttpRequest& request);

  private:
    std::vector<ChangePath> changes_;
    Grammar grammar_;
};

}  // namespace spead::app
