#include "cli/section_options.h"

#include <fmt/format.h>

#include "analysis/core/words.h"

namespace fathom::cli {
namespace {

using analysis::Section;

struct SectionFlag {
  Section section;
  const char* text;
  bool rare;
};

// Sections without a flag of their own: functions, which every report has, and tree, which is --tree.
constexpr SectionFlag kFlags[] = {
    {Section::kWaits, "what threads wait for, and who makes them wait", false},
    {Section::kHeap, "heap by call site, size, lifetime and age", false},
    {Section::kMemory, "what RSS consists of", false},
    {Section::kLocks, "contended locks, and who releases them", true},
    {Section::kFiles, "files and peers that threads waited for", true},
    {Section::kCalls, "calls counted by record --probe", true},
    {Section::kTimeline, "live heap over time, and what the peak was made of", true},
    {Section::kLines, "source lines by cost", true},
    {Section::kThreads, "threads and processes", true},
    {Section::kModules, "modules, and how good their symbols are", true},
    {Section::kSeries, "readings over time: memory, faults, control group", true},
    {Section::kBlocks, "largest and oldest live blocks (recorded with --each-block)", true},
};

std::string all_names() {
  std::string names;
  for (std::size_t i = 0; i < analysis::kSectionCount; ++i)
    names += (i == 0 ? "" : ", ") + std::string(to_string(static_cast<Section>(i)));
  return names;
}

void add_flags(CLI::App& app, SectionArguments& arguments, bool rare) {
  for (const SectionFlag& flag : kFlags)
    if (flag.rare == rare)
      app.add_flag_callback(
          fmt::format("--{}", to_string(flag.section)),
          [&arguments, section = flag.section] { arguments.sections.add(section); }, flag.text);
}

}  // namespace

void add_section_options(CLI::App& app, SectionArguments& arguments) {
  app.add_option("--show", arguments.show, "tables to print: waits,locks,files,threads and so on")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("TABLES");
  add_flags(app, arguments, false);
}

void add_rare_section_options(CLI::App& app, SectionArguments& arguments) {
  add_flags(app, arguments, true);
}

Result<> choose_sections(SectionArguments& arguments) {
  analysis::Sections shown;
  for (const std::string& name : arguments.show) {
    const auto section = analysis::section_from(name);
    if (!section)
      return fail(ErrorKind::kUsage, fmt::format("--show: there is no table '{}'", analysis::printable(name)),
                  "one or more of " + all_names());
    shown.add(*section);
  }
  for (const Section alone : {Section::kCalls, Section::kTimeline})
    if (shown.has(alone) && shown.size() > 1)
      return fail(ErrorKind::kUsage,
                  fmt::format("--show: {} is a report of its own, without other tables", to_string(alone)),
                  fmt::format("fathom report --show {}", to_string(alone)));
  for (std::size_t i = 0; i < analysis::kSectionCount; ++i)
    arguments.sections.add(static_cast<Section>(i), shown.has(static_cast<Section>(i)));
  return {};
}

analysis::Sections sections_of_json(const SectionArguments& arguments) {
  return arguments.show.empty() ? analysis::Sections::all() : arguments.sections;
}

}  // namespace fathom::cli
