#include "analysis/heap/suppressions.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/idle.h"
#include "base/parse.h"
#include "base/text.h"

namespace fathom::analysis {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr std::uint32_t kUnknown = kNone - 1;

// A pattern may stand anywhere in a name; a glob is a whole name.
std::string glob_of(std::string_view pattern) {
  const bool from_start = pattern.starts_with('^');
  if (from_start) pattern.remove_prefix(1);
  const bool to_end = pattern.ends_with('$');
  if (to_end) pattern.remove_suffix(1);
  return fmt::format("{}{}{}", from_start ? "" : "*", pattern, to_end ? "" : "*");
}

}  // namespace

Result<std::vector<Suppression>> parse_suppressions(std::string_view text, const std::string& name) {
  std::vector<Suppression> rows;
  std::uint32_t number = 0;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_until(text, '\n'));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const auto wrong = [&](const std::string& what) {
      return fail(ErrorKind::kMalformed, fmt::format("{}:{}: {}", name, number, what),
                  "a line is leak:PATTERN, or begins with #");
    };
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return wrong(fmt::format("'{}' is not a suppression", line));
    if (line.substr(0, colon) != "leak")
      return wrong(fmt::format("there is no kind '{}' here", line.substr(0, colon)));
    const std::string_view pattern = trimmed(line.substr(colon + 1));
    // It would hide everything: a mistake, because leak:* says that explicitly.
    if (pattern.find_first_not_of("^$") == std::string_view::npos)
      return wrong("there is no pattern after 'leak:'");
    rows.push_back({std::string(pattern), glob_of(pattern), name, number, false});
  }
  return rows;
}

const std::vector<Suppression>& built_in_suppressions() {
  // A test reads them too, so they are well formed.
  static const std::vector<Suppression> kRows = [] {
    std::vector<Suppression> rows = parse_suppressions(kLeakSuppressionsText, "leak_suppressions.txt")
                                        .value_or(std::vector<Suppression>{});
    for (Suppression& row : rows) row.built_in = true;
    return rows;
  }();
  return kRows;
}

Suppressed::Suppressed(const model::Profile& profile, const std::vector<Suppression>& suppressions)
    : profile_(profile),
      suppressions_(suppressions),
      texts_(profile.strings.size(), kUnknown),
      frames_(profile.frames.size(), kUnknown),
      stacks_(profile.stacks.size(), kUnknown) {
  stacks_[0] = kNone;
}

std::uint32_t Suppressed::of_text(model::StringId text) {
  std::uint32_t& known = texts_[text.value];
  if (known != kUnknown) return known;
  known = kNone;
  const std::string_view name = profile_.strings[text];
  for (std::uint32_t i = 0; i < suppressions_.size() && known == kNone && !name.empty(); ++i)
    if (matches_glob(suppressions_[i].glob, name)) known = i;
  return known;
}

std::uint32_t Suppressed::of_frame(model::FrameId id) {
  std::uint32_t& known = frames_[id.value];
  if (known != kUnknown) return known;
  const model::Frame& frame = profile_.frames[id.value];
  const model::Module& module = profile_.modules[frame.module.value];
  known = std::min(of_text(module.name), of_text(module.path));
  for (std::uint32_t i = 0; i < frame.line_count; ++i) {
    const model::Line& line = profile_.lines[frame.first_line + i];
    known = std::min({known, of_text(profile_.functions[line.function.value].name), of_text(line.file)});
  }
  return known;
}

std::optional<std::uint32_t> Suppressed::by(model::StackId stack) {
  // From the nearest ancestor that is known back down: no recursion, as stacks have up to 1023 frames.
  std::vector<std::uint32_t> path;
  std::uint32_t at = stack.value;
  for (; stacks_[at] == kUnknown; at = profile_.stacks[at].parent.value) path.push_back(at);
  std::uint32_t found = stacks_[at];
  for (auto row = path.rbegin(); row != path.rend(); ++row)
    stacks_[*row] = found = std::min(found, of_frame(profile_.stacks[*row].frame));
  return found == kNone ? std::nullopt : std::optional(found);
}

}  // namespace fathom::analysis
