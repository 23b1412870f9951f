// fathom detach: takes out a heap tracer whose profiler was killed.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "attach/inject/tracer/stale_tracer.h"
#include "cli/command.h"

namespace fathom::cli {

Run add_detach(CLI::App& app) {
  auto pid = std::make_shared<int>(0);
  app.add_option("-p,--pid", *pid, "process with a heap tracer of a killed fathom")
      ->required()
      ->check(CLI::PositiveNumber)
      ->type_name("PID");
  app.footer(
      "A tracer without a profiler records nothing and costs one or two nanoseconds per allocation. This command restores the process. Every recording does that itself when it ends, unless it is killed.");
  return [pid]() -> Result<int> {
    auto done = inject::detach_stale_tracer(*pid);
    if (!done) return tl::unexpected<Error>(done.error());
    fmt::print("{}\n", *done);
    return kDone;
  };
}

}  // namespace fathom::cli
