// fathom oom: what was killed for lack of memory, and why, from the records of the kernel and of services.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>

#include "base/files.h"
#include "cli/command.h"
#include "cli/number_word.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "cli/output_kind.h"
#include "tools/oom/evidence.h"
#include "tools/oom/kernel_log.h"
#include "tools/oom/present.h"
#include "tools/oom/records.h"

namespace fathom::cli {
namespace {

constexpr const char* kMoreLogs =
    "journalctl -b -1 | fathom oom -  (the boot before; -b 0 is this one; without -k also what systemd-oomd and earlyoom killed), or a file of /var/log";
constexpr const char* kLogOfNode =
    "dmesg | fathom oom -  on the machine that ran the container: its kernel has the record with the sizes";

// What container engines report about a kill, without its record: events of docker and podman, kubectl describe, an eviction.
bool names_dead_container(std::string_view log) {
  constexpr std::array kWords = {"OOMKilled", "OOMKilling", "container oom", "exceeds memory limit",
                                 "low on resource: memory"};
  return std::ranges::any_of(kWords,
                             [&](const char* words) { return log.find(words) != std::string_view::npos; });
}

struct OomArguments {
  std::string file;
  std::string profiles = "fathom-profiles";
  std::optional<std::size_t> record;
  bool all = false, json = false;
  OutputPath output;
};

Result<std::string> read_log(const OomArguments& arguments) {
  if (arguments.file.empty()) return oom::read_kernel_log();
  if (arguments.file != "-") {
    auto log = read_file(arguments.file);
    if (!log && log.error().remedy.empty()) log.error().remedy = "journalctl -k -b -1 | fathom oom -";
    return log;
  }
  const Fd input(::dup(STDIN_FILENO));
  return read_file(input, "standard input", std::size_t{1} << 30);
}

Result<int> run_oom(const OomArguments& arguments) {
  if (auto fitting =
          fits_ending(arguments.output.path, arguments.json ? OutputKind::kJson : OutputKind::kText);
      !fitting)
    return tl::unexpected<Error>(fitting.error());
  const Result<std::string> log = read_log(arguments);
  if (!log) return tl::unexpected<Error>(log.error());
  const std::vector<oom::Record> records = oom::read_records(*log);
  const bool of_container = names_dead_container(*log);
  if (records.empty() && !arguments.json)
    return fail(
        ErrorKind::kNotFound,
        (arguments.file.empty()  ? std::string("the kernel log")
         : arguments.file == "-" ? std::string("standard input")
                                 : arguments.file) +
            (of_container ? ": a container was killed for lack of memory, but the kernel's record is not here"
                          : ": no record of a process killed for lack of memory"),
        of_container ? kLogOfNode : kMoreLogs);
  if (arguments.record && *arguments.record > records.size())
    return fail(
        ErrorKind::kNotFound,
        "record " + std::to_string(*arguments.record) + ": there are " + std::to_string(records.size()),
        "fathom oom lists them");
  std::vector<oom::Shown> shown;
  for (std::size_t number = 1; number <= records.size(); ++number) {
    if (!arguments.all && number != arguments.record.value_or(records.size())) continue;
    std::vector<oom::Evidence> evidence;
    if (const auto& kills = records[number - 1].kills; !kills.empty())
      evidence = oom::find_evidence(arguments.profiles, kills.front().pid, kills.front().name);
    shown.push_back({number, std::move(evidence)});
  }
  const std::string text =
      arguments.json ? oom::to_json(records, shown)
                     : oom::to_text(records, shown, arguments.output.path.empty() ? output_width() : 0);
  if (auto written = write_output(text, arguments.output); !written)
    return tl::unexpected<Error>(written.error());
  return records.empty() ? kTargetGone : kDone;
}

}  // namespace

Run add_oom(CLI::App& app) {
  auto arguments = std::make_shared<OomArguments>();
  app.add_option(
         "file", arguments->file,
         "log from dmesg (also -T), journalctl, syslog or a console; - for standard input (default: the log of the running kernel)")
      ->type_name("FILE");
  begin_group(app, kOutputGroup);
  auto* record = app.add_option("--record", arguments->record, "show record N instead of the last one")
                     ->type_name("N")
                     ->check(whole_number(1));
  app.add_flag("--all", arguments->all, "show every record")->excludes(record);
  app.add_option("--profiles", arguments->profiles,
                 "folder with recordings, to find the one of the killed process")
      ->type_name("FOLDER")
      ->capture_default_str();
  app.add_flag("--json", arguments->json, "print all records as JSON (docs/oom.md)");
  add_output_options(app, arguments->output, "file (default: standard output)");
  app.footer(
      "Exit status: 0 if there is a record, 3 if there is none, 4 if this user may not read the kernel log.");
  return [arguments] { return run_oom(*arguments); };
}

}  // namespace fathom::cli
