#include "cli/drawn_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/command.h"

namespace fathom::cli {
namespace {

constexpr std::string_view kRecording = ".fathom";

struct Ending {
  std::string_view text;
  std::string_view format;  // of fathom export; "": a flame graph
};
// Longer endings come before those that they end in. A bare .json is what other recorders write there: a Firefox profile.
constexpr std::array kEndings{
    Ending{".svg", ""},
    Ending{".html", "html"},
    Ending{".firefox.json", "firefox"},
    Ending{".speedscope.json", "speedscope"},
    Ending{".json", "firefox"},
    Ending{".pb", "pprof"},
    Ending{".pprof", "pprof"},
    Ending{".folded", "folded"},
    Ending{".pftrace", "perfetto"},
    Ending{".callgrind", "callgrind"},
    Ending{".heaptrack", "heaptrack"},
    Ending{".dot", "dot"},
    Ending{".sql", "sql"},
};
// Kinds that people expect of a profiler and that fathom does not write.
constexpr std::array<std::string_view, 6> kUnknown{".data", ".perf", ".pdf", ".png", ".txt", ".csv"};

std::string_view without_packing(std::string_view name) {
  for (const std::string_view packed : {".gz", ".zst"})
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  return name;
}

const Ending* ending_of(std::string_view file) {
  const std::string_view name = without_packing(file);
  const auto found = std::ranges::find_if(kEndings, [&](const Ending& ending) {
    return name.size() > ending.text.size() && name.ends_with(ending.text);
  });
  return found == kEndings.end() ? nullptr : &*found;
}

}  // namespace

Result<DrawnOutput> split_output(std::string_view output) {
  if (output.ends_with(kRecording)) return DrawnOutput{std::string(output), ""};
  const std::string_view name = without_packing(output);
  const Ending* ending = ending_of(output);
  if (ending != nullptr)
    return DrawnOutput{
        std::string(name.substr(0, name.size() - ending->text.size())) + std::string(kRecording),
        std::string(output)};
  const bool unknown =
      name.size() != output.size() ||
      std::ranges::any_of(kUnknown, [&](std::string_view each) { return output.ends_with(each); });
  if (unknown)
    return fail(
        ErrorKind::kUsage, fmt::format("-o {}: fathom record does not write this kind of file", output),
        "-o FILE.fathom for a recording, or FILE.svg, .html, .json (Firefox Profiler), .pb.gz (pprof), .folded");
  return DrawnOutput{std::string(output), ""};
}

Result<> draw_output(const DrawnOutput& output, bool force) {
  const Ending* ending = ending_of(output.file);
  if (ending == nullptr || ending->format.empty())
    return draw_flamegraph_to(output.recording, output.file, force);
  return export_to(output.recording, std::string(ending->format), output.file, force);
}

}  // namespace fathom::cli
