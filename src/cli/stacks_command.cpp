// fathom stacks: what every thread of a process does now, and what follows from it.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "binary/symbolize/debug_files.h"
#include "binary/symbolize/symbol_cache.h"
#include "cli/command.h"
#include "cli/group_option.h"
#include "cli/named_target.h"
#include "cli/number_word.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "cli/seconds_word.h"
#include "linux/process/group.h"
#include "present/json/stacks_json.h"
#include "present/text/text_stacks.h"
#include "tools/stacks/core/core_threads.h"
#include "tools/stacks/live/live_threads.h"

namespace fathom::cli {
namespace {

constexpr const char* kCommand = "fathom stacks";

struct StacksArguments {
  int pid = 0;
  std::string name;
  GroupArguments group;
  bool json = false, all = false, wide = false;
  unsigned looks = 1;
  double interval_s = 1;
  std::string core, symbols, sysroot;
  OutputPath output;
  std::string color = "auto";
};

Result<std::vector<std::int32_t>> targets_of(const StacksArguments& arguments) {
  const int given =
      !arguments.core.empty() + (arguments.pid != 0) + !arguments.name.empty() + arguments.group.given();
  if (given != 1)
    return fail(ErrorKind::kUsage,
                given == 0 ? "stacks: no process is named" : "stacks: more than one target is named",
                "fathom stacks -p PID, -n NAME, or a core file");
  if (!arguments.core.empty()) return std::vector<std::int32_t>();
  if (arguments.pid != 0) {
    if (auto process = is_process(arguments.pid, kCommand); !process)
      return tl::unexpected<Error>(process.error());
    return std::vector{arguments.pid};
  }
  if (!arguments.name.empty()) {
    const auto pid = the_one_named(arguments.name, kCommand);
    if (!pid) return tl::unexpected<Error>(pid.error());
    return std::vector{*pid};
  }
  const auto group = find_group(arguments.group);
  if (!group) return tl::unexpected<Error>(group.error());
  return process::members_of(*group);
}

symbolize::Options symbol_options(const StacksArguments& arguments) {
  symbolize::Options options;
  options.symbol_directory = arguments.symbols;
  options.cache_directory = symbolize::default_cache_directory();
  options.reader.program = "/proc/self/exe";
  options.debuginfod_caches = symbolize::debuginfod_caches();
  return options;
}

Result<int> print_looks(const StacksArguments& arguments, const model::Profile& profile,
                        const std::vector<stacks::Look>& looks) {
  present::StacksTextOptions style;
  style.width = arguments.wide || !output_is_narrow() ? 0 : output_width();
  style.color = output_has_color(arguments.color, arguments.output);
  style.all = arguments.all;
  return end_with_output(
      arguments.json ? present::stacks_json(profile, looks) : present::stacks_text(profile, looks, style),
      arguments.output);
}

Result<int> run_on_core(const StacksArguments& arguments) {
  auto core = stacks::CoreThreads::open(arguments.core, {symbol_options(arguments), arguments.sysroot});
  if (!core) {
    Error error = core.error();
    const bool is_number = arguments.core.find_first_not_of("0123456789") == std::string::npos;
    if (is_number && error.kind == ErrorKind::kNotFound)
      error.remedy = "fathom stacks -p " + arguments.core;
    else if (error.remedy.empty())
      error.remedy =
          "a core file, as gcore PID and coredumpctl dump write it; of a running process: fathom stacks -p PID";
    return tl::unexpected<Error>(std::move(error));
  }
  const std::vector<stacks::Look> looks{(*core)->look()};
  return print_looks(arguments, (*core)->profile(), looks);
}

Result<int> run_stacks(const StacksArguments& arguments) {
  const auto pids = targets_of(arguments);
  if (!pids) return tl::unexpected<Error>(pids.error());
  if (!arguments.core.empty()) return run_on_core(arguments);
  stacks::LiveThreads threads(symbol_options(arguments));
  std::size_t added = 0;
  Error refusal{ErrorKind::kNotFound, "no process is left", ""};
  for (const std::int32_t pid : *pids) {
    if (const auto one = threads.add(pid))
      ++added;
    else
      refusal = one.error();
  }
  if (added == 0) return tl::unexpected<Error>(refusal);
  std::vector<stacks::Look> looks;
  const auto interval = std::chrono::nanoseconds(std::llround(arguments.interval_s * 1e9));
  auto next = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < arguments.looks; ++i) {
    if (i != 0) std::this_thread::sleep_until(next += interval);
    auto look = threads.look();
    // It may end between two looks: the earlier ones are shown.
    if (!look && looks.empty()) return tl::unexpected<Error>(look.error());
    if (!look) break;
    looks.push_back(std::move(*look));
  }
  return print_looks(arguments, threads.profile(), looks);
}

}  // namespace

Run add_stacks(CLI::App& app) {
  auto arguments = std::make_shared<StacksArguments>();
  begin_group(app, kTargetGroup);
  app.add_option("core", arguments->core,
                 "core file of the kernel or of gcore; may be packed (gzip, xz, zstd)")
      ->type_name("CORE");
  app.add_option("-p,--pid", arguments->pid, "process with this number")
      ->check(CLI::PositiveNumber)
      ->type_name("PID");
  app.add_option("-n,--name", arguments->name, "the process with exactly this name")->type_name("NAME");
  add_group_options(app, arguments->group);
  begin_group(app, kStopGroup);
  app.add_option("-c,--count", arguments->looks,
                 "number of looks; shows what moved between the first and the last")
      ->check(CLI::Range(1u, 10'000u))
      ->check(whole_number(1))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("-i,--interval", arguments->interval_s, "time between looks: 1, 500ms, 1m; at least 0.01")
      ->transform(seconds_word())
      ->check(CLI::Range(0.01, 86400.0))
      ->type_name("TIME")
      ->capture_default_str();
  begin_group(app, kOutputGroup);
  app.add_flag("--all", arguments->all,
               "show every thread and frame, also of idle threads and of the kernel");
  app.add_flag("--json", arguments->json, "print JSON (docs/stacks.md)");
  app.add_flag("--wide", arguments->wide, "do not shorten names");
  app.add_option("--symbols", arguments->symbols, "folder with unstripped files or debug files")
      ->type_name("DIR");
  app.add_option("--sysroot", arguments->sysroot,
                 "of a core file: folder with the files of the machine it comes from")
      ->type_name("DIR");
  add_output_options(app, arguments->output, "file (default: standard output)");
  add_color_option(app, arguments->color);
  app.footer(
      "Threads that wait are read without being stopped, threads that run are sampled once; the process is left as it was. Also works while a debugger has stopped it. Without root it shows processes of the same user.");
  return [arguments] { return run_stacks(*arguments); };
}

}  // namespace fathom::cli
