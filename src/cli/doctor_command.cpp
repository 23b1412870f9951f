// fathom doctor: what this machine and this user allow, which engine would be used, and what a target's names
// are worth.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/core/words.h"
#include "binary/symbolize/debug_files.h"
#include "cli/allocation_rate.h"
#include "cli/command.h"
#include "cli/group_option.h"
#include "cli/named_target.h"
#include "cli/notices.h"
#include "cli/option_groups.h"
#include "cli/stale_tracers.h"
#include "linux/process/find.h"
#include "tools/allow/lowered_settings.h"
#include "tools/doctor/diagnosis.h"
#include "tools/doctor/jemalloc_settings.h"
#include "tools/doctor/machine_probe.h"
#include "tools/doctor/present.h"
#include "tools/doctor/target_probe.h"

namespace fathom::cli {
namespace {

struct DoctorArguments {
  int pid = 0;
  std::string name;
  GroupArguments groups;
  std::string symbol_directory;
  bool json = false, no_probe = false;
  std::optional<std::string> malloc_conf;
  std::string purpose;
  std::string allocation_rate;  // as it was typed; empty: unknown
};

// The process that the user named; 0 for none.
Result<int> find_target(const DoctorArguments& arguments) {
  const int ways = (arguments.pid != 0) + !arguments.name.empty() + arguments.groups.given();
  if (ways > 1)
    return fail(ErrorKind::kUsage, "more than one kind of target",
                "fathom doctor -p PID, without the others");
  if (arguments.groups.given() != 0) return main_process(arguments.groups);
  if (arguments.name.empty()) {
    if (auto whole = is_process(arguments.pid, "fathom doctor"); !whole)
      return tl::unexpected<Error>(whole.error());
    return arguments.pid;
  }
  return the_one_named(arguments.name, "fathom doctor");
}

// --malloc-conf and --for: about settings, and not about the machine.
// Writes settings for one jemalloc where a purpose is named, and says what is wrong with them.
Result<doctor::ConfCheck> check_conf(const DoctorArguments& arguments, doctor::MallocConfTarget target) {
  if (!arguments.allocation_rate.empty()) {
    const Result<double> rate = allocation_rate(arguments.allocation_rate);
    if (!rate) return tl::unexpected<Error>(rate.error());
    target.bytes_per_s = *rate;
  }
  std::string text = arguments.malloc_conf.value_or("");
  if (!arguments.purpose.empty()) {
    const Result<std::string> written = doctor::malloc_conf_for(arguments.purpose, target);
    if (!written) return tl::unexpected<Error>(written.error());
    text = *written;
    fmt::print("{}={}\n", target.prefix ? doctor::variable_of(*target.prefix) : "MALLOC_CONF", text);
  }
  doctor::ConfCheck check = doctor::check_malloc_conf(text, target);
  fmt::print("{}", analysis::printable_lines(doctor::to_text(check)));
  return check;
}

// A process may hold several jemallocs, each with a prefix and a variable of its own.
Result<int> run_malloc_conf(const DoctorArguments& arguments, int pid) {
  std::vector<doctor::JemallocFact> found;
  if (pid != 0) {
    const auto facts = doctor::probe_target(pid, {}, false);
    if (!facts) return tl::unexpected<Error>(facts.error());
    found = doctor::jemallocs_of(pid, *facts);
    if (found.empty())
      return fail(ErrorKind::kNotFound, fmt::format("there is no jemalloc in process {}", pid),
                  "fathom record --heap -p PID, which needs none");
  }
  if (found.empty()) {
    doctor::MallocConfTarget unknown;
    unknown.folder_exists = [](const std::string& folder) {
      std::error_code ignored;
      return std::filesystem::is_directory(folder, ignored);
    };
    const auto check = check_conf(arguments, unknown);
    return !check ? tl::unexpected<Error>(check.error()) : Result<int>(check->wrong() ? kFailed : kDone);
  }
  int status = kDone;
  bool assumed_rate = false;
  std::string_view joint;
  for (const doctor::JemallocFact& fact : found) {
    fmt::print("{}{}", std::exchange(joint, "\n"),
               analysis::printable_lines(fmt::format("{} in {}\n", fact.label, fact.module)));
    const auto check = check_conf(arguments, doctor::conf_target_of(fact));
    if (!check) return tl::unexpected<Error>(check.error());
    if (check->wrong()) status = kFailed;
    assumed_rate |= check->assumed_rate;
  }
  if (assumed_rate)
    say("fathom: the figures are for 100 MB/s, because how much the process allocates is unknown; to measure it for 10 s: fathom record --heap -d 10 -o rate.fathom -p {}, then --alloc-rate rate.fathom\n",
        pid);
  return status;
}

// What a fathom allow left that was killed together with its guardian.
void put_back_settings() {
  if (::geteuid() != 0) return;
  if (const Result<int> count = allow::put_back_leftovers(allow::kJournal); count && *count > 0)
    say("fathom: a fathom allow was killed: the kernel's settings that it had lowered are back\n");
}

Result<int> run_doctor(const DoctorArguments& arguments) {
  put_back_settings();
  auto pid = find_target(arguments);
  if (!pid) return tl::unexpected<Error>(pid.error());
  if (arguments.malloc_conf || !arguments.purpose.empty()) return run_malloc_conf(arguments, *pid);
  std::optional<doctor::TargetFacts> target;
  if (*pid != 0) {
    const std::int32_t looked_at = *pid;
    say_stale_tracers({&looked_at, 1});
    symbolize::Options options;
    options.symbol_directory = arguments.symbol_directory;
    options.debuginfod_caches = symbolize::debuginfod_caches();
    options.reader.program = "/proc/self/exe";  // the files are the target's, and doctor is often root's
    auto facts = doctor::probe_target(*pid, options, !arguments.no_probe);
    if (!facts) return tl::unexpected<Error>(facts.error());
    target = std::move(*facts);
  }
  const doctor::MachineFacts machine = doctor::probe_machine(*pid);
  const doctor::TargetFacts* of_target = target ? &*target : nullptr;
  const doctor::Diagnosis diagnosis = doctor::diagnose(machine, of_target);
  const std::string text = arguments.json ? doctor::to_json(diagnosis, machine, of_target)
                                          : doctor::to_text(diagnosis, machine, of_target);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (of_target != nullptr && !arguments.json)
    for (const doctor::JemallocFact& fact : doctor::jemallocs_of(*pid, *of_target))
      fmt::print("{}", doctor::to_text(fact));
  return diagnosis.engine.empty() ? kNotPermitted : kDone;
}

}  // namespace

Run add_doctor(CLI::App& app) {
  auto arguments = std::make_shared<DoctorArguments>();
  begin_group(app, kTargetGroup);
  app.add_option("-p,--pid", arguments->pid, "also check this process")
      ->check(CLI::PositiveNumber)
      ->type_name("PID");
  app.add_option("-n,--name", arguments->name, "also check the process with exactly this name")
      ->type_name("NAME");
  add_group_options(app, arguments->groups, "the main process");
  begin_group(app, kOutputGroup);
  app.add_option("--symbols", arguments->symbol_directory, "folder with unstripped twins and debug files");
  app.add_flag("--json", arguments->json, "print all facts as JSON");
  app.add_flag("--no-trial,--no-probe", arguments->no_probe,
               "never run a private copy of a stripped program to test its allocator functions");
  auto* conf =
      app.add_option(
             "--malloc-conf", arguments->malloc_conf,
             "check these jemalloc settings (for the process of -p or -n) and exit with 1 if one is wrong or has no effect")
          ->type_name("TEXT");
  app.add_option("--for", arguments->purpose, "print jemalloc settings for this purpose")
      ->check(CLI::IsMember({"leak", "production", "peak"}))
      ->excludes(conf);
  app.add_option(
         "--alloc-rate", arguments->allocation_rate,
         "with --for and --malloc-conf: how much the program allocates, in MB/s or as a recording of its heap, to estimate the number of dumps")
      ->type_name("RATE");
  return [arguments] { return run_doctor(*arguments); };
}

}  // namespace fathom::cli
