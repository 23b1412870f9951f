#include "analysis/core/stack_choice.h"

#include <fmt/format.h>

#include "analysis/core/name_pattern.h"

namespace fathom::analysis {
namespace {

using namespace model;

// By frame: 1 where a line of it fits one of the patterns.
Result<std::vector<char>> frames_that_fit(const Profile& profile, const std::vector<std::string>& texts) {
  std::vector<char> functions(profile.functions.size()), frames(profile.frames.size());
  for (const std::string& text : texts) {
    const Result<NamePattern> pattern = NamePattern::parse(text);
    if (!pattern) return tl::unexpected(pattern.error());
    bool found = false;
    for (std::size_t i = 0; i < functions.size(); ++i) {
      if (!pattern->matches(std::string(profile.strings[profile.functions[i].name]))) continue;
      functions[i] = 1;
      found = true;
    }
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const Frame& frame = profile.frames[i];
      if (frame.line_count != 0 || !pattern->matches(profile.pseudo_name(frame))) continue;
      frames[i] = 1;
      found = true;
    }
    if (!found)
      return fail(
          ErrorKind::kNotFound, fmt::format("no function is called '{}'", text),
          "a part of the name, or a regular expression between slashes; report --top 0 lists all names");
  }
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Frame& frame = profile.frames[i];
    for (std::uint32_t line = 0; line < frame.line_count; ++line)
      frames[i] |= functions[profile.lines[frame.first_line + line].function.value];
  }
  return frames;
}

}  // namespace

Result<std::shared_ptr<const StackChoice>> choose_stacks(const Profile& profile,
                                                         const std::vector<std::string>& focus,
                                                         const std::vector<std::string>& ignore) {
  if (focus.empty() && ignore.empty()) return std::shared_ptr<const StackChoice>();
  const Result<std::vector<char>> wanted = frames_that_fit(profile, focus);
  if (!wanted) return tl::unexpected(wanted.error());
  const Result<std::vector<char>> unwanted = frames_that_fit(profile, ignore);
  if (!unwanted) return tl::unexpected(unwanted.error());
  auto choice = std::make_shared<StackChoice>();
  choice->focus = focus;
  choice->ignore = ignore;
  constexpr char kHas = 1, kMustNot = 2;
  std::vector<char> marks(profile.stacks.size());
  choice->taken.resize(profile.stacks.size());
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (i != 0) {  // a parent comes before its children
      const Stack& stack = profile.stacks[i];
      marks[i] = marks[stack.parent.value];
      if ((*wanted)[stack.frame.value] != 0) marks[i] |= kHas;
      if ((*unwanted)[stack.frame.value] != 0) marks[i] |= kMustNot;
    }
    choice->taken[i] = (marks[i] & kMustNot) == 0 && (focus.empty() || (marks[i] & kHas) != 0);
  }
  return std::shared_ptr<const StackChoice>(std::move(choice));
}

}  // namespace fathom::analysis
