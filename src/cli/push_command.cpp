// fathom push: recordings to a server that keeps those of many hosts.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <utility>

#include "analysis/core/words.h"
#include "base/clock.h"
#include "base/shell_word.h"
#include "cli/clock_time.h"
#include "cli/command.h"
#include "cli/newest_recording.h"
#include "cli/notices.h"
#include "cli/open_store.h"
#include "cli/option_groups.h"
#include "cli/push_destinations.h"
#include "cli/selection_options.h"
#include "tools/push/destination.h"
#include "tools/serve/store.h"

namespace fathom::cli {
namespace {

struct PushArguments {
  std::string destination, parquet;
  bool experimental = false;
  std::vector<std::string> inputs;
  push::Labels labels;
};

// One recording to send. A window of a store belongs to the target after which its folder is named.
struct PushItem {
  std::string path, service;
};

Result<std::vector<PushItem>> items_of(const std::string& input) {
  std::string folder;
  auto stored = store_choice(input, folder);
  if (!stored) return tl::unexpected<Error>(stored.error());
  if (!*stored) return std::vector<PushItem>{{input, ""}};
  serve::TimeRange range;
  for (auto [text, time] : {std::pair(&(*stored)->from, &range.from_unix_ns),
                            std::pair(&(*stored)->until, &range.until_unix_ns)}) {
    if (text->empty()) continue;
    *time = clock_time(*text, wall_clock_ns());
    if (!*time)
      return fail(ErrorKind::kUsage, fmt::format("'{}' is not a time", analysis::printable(*text)),
                  "from=-10m");
  }
  std::vector<PushItem> items;
  for (const std::string& target : serve::targets_in(folder)) {
    if (!(*stored)->target.empty() && target != serve::folder_name((*stored)->target)) continue;
    for (const serve::StoredWindow& window :
         serve::windows_of(serve::windows_in(folder + "/" + target), range))
      items.push_back({window.path, target});
  }
  if (items.empty())
    return fail(ErrorKind::kNotFound, fmt::format("{} has no window in this time", folder),
                fmt::format("fathom list {}", shell_word(folder)));
  return items;
}

// A server that restarts or is overloaded for a moment.
Result<push::Sent> send_patiently(push::Destination& destination, const model::Profile& profile,
                                  const push::Labels& labels) {
  constexpr std::array<unsigned, 3> kPauses = {1, 3, 9};  // seconds
  bool said = false;
  for (const unsigned pause : kPauses) {
    auto sent = destination.send(profile, labels);
    if (sent || sent.error().kind != ErrorKind::kSystem) return sent;
    if (!std::exchange(said, true))
      say("fathom: {}; fathom tries again after 1, 4 and 13 s\n", sent.error().message);
    ::sleep(pause);
  }
  return destination.send(profile, labels);
}

Result<int> run_push(PushArguments arguments) {
  if (!arguments.parquet.empty()) {
    // Then the first name is a recording, too.
    if (!arguments.destination.empty())
      arguments.inputs.insert(arguments.inputs.begin(), arguments.destination);
    arguments.destination = "parquet:" + arguments.parquet;
  }
  if (arguments.destination.empty())
    return fail(ErrorKind::kUsage, "push: no server is named",
                "fathom push clickhouse://HOST/DATABASE, or fathom push --parquet FOLDER");
  auto destination = open_destination(arguments.destination, arguments.experimental);
  if (!destination) return tl::unexpected<Error>(destination.error());
  if (arguments.inputs.empty()) {
    std::string newest;
    if (auto chosen = choose_input(newest); !chosen) return tl::unexpected<Error>(chosen.error());
    arguments.inputs.push_back(newest);
  }
  push::Sent sum;
  for (const std::string& input : arguments.inputs) {
    const auto items = items_of(input);
    if (!items) return tl::unexpected<Error>(items.error());
    for (const PushItem& item : *items) {
      const auto profile = open_with_names(item.path, {}, {});
      if (!profile) return tl::unexpected<Error>(profile.error());
      push::Labels named = arguments.labels;
      if (named.service.empty()) named.service = item.service;
      named.of_store = !item.service.empty();
      const push::Labels labels = push::labels_of(*profile, named);
      const auto sent = send_patiently(**destination, *profile, labels);
      if (!sent) return within(item.path, sent.error());
      sum += *sent;
    }
  }
  const bool is_folder = !arguments.parquet.empty();
  const std::string known = sum.known_parts == 0
                                ? ""
                                : fmt::format("; the {} already had {}", is_folder ? "folder" : "server",
                                              analysis::counted(sum.known_parts, "window"));
  // Servers without tables take profiles.
  const std::string what = sum.rows == 0 && sum.parts != 0
                               ? analysis::counted(sum.parts, "profile")
                               : fmt::format("{} with {}", analysis::counted(sum.parts, "window"),
                                             analysis::counted(sum.rows, "row"));
  say("fathom: {} {} ({} bytes){}\n", is_folder ? "wrote" : "sent", what, sum.bytes, known);
  return kDone;
}

}  // namespace

Run add_push(CLI::App& app) {
  auto arguments = std::make_shared<PushArguments>();
  app.add_option(
         "url", arguments->destination,
         "server: clickhouse://[USER@]HOST[:PORT]/DATABASE, pyroscope://HOST[:PORT] or parca://HOST[:PORT]; with TLS clickhouse+https:// and so on")
      ->type_name("URL");
  app.add_option("inputs", arguments->inputs,
                 "recordings, and stores of fathom serve; default: the newest recording")
      ->type_name("INPUT");
  begin_group(app, kOutputGroup);
  app.add_option("--parquet", arguments->parquet,
                 "write Parquet files into this folder, instead of sending to a server")
      ->type_name("FOLDER");
  app.add_option("--service", arguments->labels.service,
                 "name of the service (default: the program, or the target of a store)")
      ->type_name("NAME");
  app.add_option("--host", arguments->labels.host, "name of the host (default: the one that recorded)")
      ->type_name("NAME");
  app.add_option("--release", arguments->labels.version, "version of the program (default: its build id)")
      ->type_name("TEXT");
  app.add_flag("--experimental", arguments->experimental,
               "allow otlp://HOST[:PORT], a protocol that is still changing (version 1.11.0)")
      ->group(kRareGroup);
  app.footer(
      "Sending the same recording again changes nothing in ClickHouse and Parquet; Pyroscope and Parca add it up. The password is read from the environment variable CLICKHOUSE_PASSWORD, PYROSCOPE_PASSWORD or PARCA_PASSWORD. fathom report 'clickhouse://HOST/DATABASE?service=NAME&from=-1h' reads the rows of all hosts as one profile (docs/fleet.md).");
  return [arguments] { return run_push(*arguments); };
}

}  // namespace fathom::cli
