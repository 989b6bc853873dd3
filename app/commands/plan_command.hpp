// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/commands/command.hpp"
#include "app/run/run_options.hpp"

namespace spead::app {

/// Represents a command that carries out a plan, which its derived class makes.
class PlanCommand : public CommandWith<RunOptions> {
  public:
    void declare(CLI::App& app, CommonOptions& common) final;
    void complete(Invocation& invocation, const DefaultPort& default_port) final;
    int run(const Invocation& invocation) final;

  private:
    /// Adds the options from which the plan is made.
    virtual void add_plan_options(CLI::App& app) = 0;
    /// Adds the options of the run: all, unless a command cannot support some.
    virtual void add_options_of_run(CLI::App& app);
    /// Returns the validated plan. Throws as complete() does.
    virtual runtime::Plan make_plan(const DefaultPort& default_port) = 0;
};

}  // namespace spead::app
