// fathom clean: removes old recordings and what was drawn of them, or heap dumps, by age and by size.
#include <algorithm>
#include <memory>
#include <optional>
#include <system_error>

#include "base/clock.h"
#include "cli/block_options.h"
#include "cli/clean_kinds.h"
#include "cli/command.h"
#include "cli/number_word.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "tools/shelf/recordings.h"
#include "tools/shelf/retention.h"
#include "tools/shelf/text.h"

namespace fathom::cli {
namespace {

struct CleanArguments {
  std::string folder = "fathom-profiles";
  std::string older, most;
  std::string kind = std::string(clean_kinds().front().name);
  shelf::Retention rule;
  bool dry_run = false;
};

Result<> remove_files(const shelf::Recording& row) {
  std::error_code problem;
  for (const auto& companion : row.companions) std::filesystem::remove(companion, problem);
  std::filesystem::remove(row.path, problem);
  if (problem) return fail(ErrorKind::kSystem, row.path.string() + ": " + problem.message());
  return {};
}

Result<int> run_clean(CleanArguments arguments) {
  if (arguments.older.empty() && arguments.most.empty())
    return fail(ErrorKind::kUsage, "clean needs a rule for what goes",
                "fathom clean --older 7d --dry-run, or --max-size 5G");
  if (!arguments.older.empty()) {
    const Result<std::uint64_t> age = parse_duration_ns(arguments.older);
    if (!age) return within("--older", age.error());
    arguments.rule.older_than_ns = *age;
  }
  if (!arguments.most.empty()) {
    const Result<std::uint64_t> bytes = parse_bytes(arguments.most);
    if (!bytes) return within("--max-size", bytes.error());
    arguments.rule.most_bytes = *bytes;
  }
  const CleanKind& kind = *std::ranges::find(clean_kinds(), arguments.kind, &CleanKind::name);
  const std::uint64_t now = wall_clock_ns();
  const Result<std::vector<shelf::Recording>> found = kind.find(arguments.folder, now);
  if (!found) return tl::unexpected<Error>(found.error());
  const std::vector<shelf::Removal> removals = shelf::choose(*found, arguments.rule, now);
  if (!arguments.dry_run)
    for (const shelf::Removal& removal : removals)
      if (auto removed = remove_files((*found)[removal.recording]); !removed)
        return tl::unexpected<Error>(removed.error());
  return end_with_output(shelf::removal_text(*found, removals, !arguments.dry_run, kind.what), {});
}

}  // namespace

Run add_clean(CLI::App& app) {
  auto arguments = std::make_shared<CleanArguments>();
  app.add_option("folder", arguments->folder, "folder with recordings; the folders in it are cleaned too")
      ->type_name("FOLDER")
      ->capture_default_str();
  std::vector<std::string> kinds;
  for (const CleanKind& kind : clean_kinds()) kinds.emplace_back(kind.name);
  app.add_option("--kind", arguments->kind, "recordings, or dumps: heap dumps that jemalloc wrote")
      ->check(CLI::IsMember(kinds))
      ->capture_default_str();
  app.add_option("--older", arguments->older, "remove what began longer ago, such as 7d or 12h")
      ->type_name("TIME");
  app.add_option("--max-size", arguments->most,
                 "remove the oldest until the rest takes no more than this, such as 5G")
      ->type_name("SIZE");
  app.add_option("--keep", arguments->rule.keep,
                 "of each program, always keep its newest N recordings; of each process, its newest N dumps")
      ->type_name("N")
      ->check(whole_number())
      ->capture_default_str();
  app.add_option("--program", arguments->rule.program, "only recordings of this program")->type_name("NAME");
  app.add_option("--tag", arguments->rule.tag, "only recordings with this tag (record --tag)")
      ->type_name("WORD");
  app.add_flag("--dry-run", arguments->dry_run, "print what would be removed, and remove nothing");
  app.footer(
      "A recording goes with the pictures, pages and exports of the same name that fathom wrote; other files stay. One that is still being written, or that cannot be read, stays. So does a dump of the last minute; dumps are known by their name and beginning.");
  return [arguments] { return run_clean(*arguments); };
}

}  // namespace fathom::cli
