// fathom detach: takes out a heap tracer whose profiler was killed.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/command.h"
#include "inject/tracer/stale_tracer.h"

namespace fathom::cli {

Run add_detach(CLI::App& app) {
  auto pid = std::make_shared<int>(0);
  app.add_option("-p,--pid", *pid, "the process that a killed fathom left its heap tracer in")
      ->required()
      ->check(CLI::PositiveNumber);
  app.footer(
      "A tracer without profiler records nothing and costs a nanosecond or two for each allocation; this "
      "command restores\n"
      "the process to what it was. A recording that ends in any other way does so by itself.");
  return [pid]() -> Result<int> {
    auto done = inject::detach_stale_tracer(*pid);
    if (!done) return tl::unexpected<Error>(done.error());
    fmt::print("{}\n", *done);
    return kDone;
  };
}

}  // namespace fathom::cli
