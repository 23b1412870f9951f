// fathom doctor: what this machine and this user allow, which engine would be used, and what a target's names
// are worth.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "doctor/diagnosis.h"
#include "doctor/machine_probe.h"
#include "doctor/present.h"
#include "doctor/target_probe.h"
#include "process/find.h"

namespace fathom::cli {
namespace {

struct DoctorArguments {
  int pid = 0;
  std::string name;
  std::string symbol_directory;
  bool json = false;
};

// The process that the user named; 0 for none.
Result<int> find_target(const DoctorArguments& arguments) {
  if (arguments.name.empty()) return arguments.pid;
  auto found = process::find_by_name(arguments.name);
  if (!found) return tl::unexpected<Error>(found.error());
  if (found->empty())
    return fail(ErrorKind::kNotFound, fmt::format("no process is named '{}'", arguments.name),
                "the exact name, as ps -C NAME has it, or -p PID");
  if (found->size() > 1) {
    std::string candidates;
    for (const auto& process : *found) candidates += "\n  " + process::describe(process);
    return fail(ErrorKind::kUsage,
                fmt::format("{} processes are named '{}':{}", found->size(), arguments.name, candidates),
                fmt::format("fathom doctor -p {}", found->front().pid));
  }
  return found->front().pid;
}

Result<int> run_doctor(const DoctorArguments& arguments) {
  auto pid = find_target(arguments);
  if (!pid) return tl::unexpected<Error>(pid.error());
  std::optional<doctor::TargetFacts> target;
  if (*pid != 0) {
    symbolize::Options options;
    options.symbol_directory = arguments.symbol_directory;
    auto facts = doctor::probe_target(*pid, options);
    if (!facts) return tl::unexpected<Error>(facts.error());
    target = std::move(*facts);
  }
  const doctor::MachineFacts machine = doctor::probe_machine();
  const doctor::TargetFacts* of_target = target ? &*target : nullptr;
  const doctor::Diagnosis diagnosis = doctor::diagnose(machine, of_target);
  const std::string text = arguments.json ? doctor::to_json(diagnosis, machine, of_target)
                                          : doctor::to_text(diagnosis, machine, of_target);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return diagnosis.engine.empty() ? kNotPermitted : kDone;
}

}  // namespace

Run add_doctor(CLI::App& app) {
  auto arguments = std::make_shared<DoctorArguments>();
  auto* pid =
      app.add_option("-p,--pid", arguments->pid, "look at this process, too")->check(CLI::PositiveNumber);
  app.add_option("-n,--name", arguments->name, "look at the process of exactly this name, too")
      ->excludes(pid);
  app.add_option("--symbols", arguments->symbol_directory, "folder with unstripped files and debug files");
  app.add_flag("--json", arguments->json, "all facts, for scripts");
  return [arguments] { return run_doctor(*arguments); };
}

}  // namespace fathom::cli
