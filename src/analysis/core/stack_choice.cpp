#include "analysis/core/stack_choice.h"

#include <fmt/format.h>

#include "analysis/core/idle.h"
#include "analysis/core/name_pattern.h"

namespace fathom::analysis {
namespace {

using namespace model;

// What fits one of some patterns.
struct Fits {
  std::vector<char> frames;  // by row of the frames: a line of it does
  std::array<char, kCauseCount> causes{};
  std::vector<char> idle_rules;
};

// Whether a cause or an idle rule fits; of a recording without waits none is shown.
bool mark_waits(const Profile& profile, const NamePattern& pattern, Fits& fits) {
  if (profile.waits.empty()) return false;
  bool found = false;
  const auto mark = [&](char& of, bool fit) {
    if (!fit) return;
    of = 1;
    found = true;
  };
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    const auto cause = static_cast<Cause>(i);
    mark(fits.causes[i],
         pattern.matches(std::string(frame_of(cause))) || pattern.matches(std::string(describe(cause))));
  }
  for (std::size_t i = 0; i < fits.idle_rules.size(); ++i)
    mark(fits.idle_rules[i], pattern.matches(idle_frame(built_in_idle_rules().rules[i].name)));
  return found;
}

Result<Fits> find_fits(const Profile& profile, const std::vector<std::string>& texts) {
  std::vector<char> functions(profile.functions.size());
  Fits fits{std::vector<char>(profile.frames.size()), {}, {}};
  fits.idle_rules.resize(built_in_idle_rules().rules.size());
  for (const std::string& text : texts) {
    const Result<NamePattern> pattern = NamePattern::parse(text);
    if (!pattern) return tl::unexpected(pattern.error());
    bool found = mark_waits(profile, *pattern, fits);
    for (std::size_t i = 0; i < functions.size(); ++i) {
      if (!pattern->matches(std::string(profile.strings[profile.functions[i].name]))) continue;
      functions[i] = 1;
      found = true;
    }
    for (std::size_t i = 0; i < fits.frames.size(); ++i) {
      const Frame& frame = profile.frames[i];
      if (frame.line_count != 0 || !pattern->matches(profile.pseudo_name(frame))) continue;
      fits.frames[i] = 1;
      found = true;
    }
    if (!found)
      return fail(
          ErrorKind::kNotFound, fmt::format("no function is called '{}'", text),
          "a part of the name, or a regular expression between slashes; report --top 0 lists all names");
  }
  for (std::size_t i = 0; i < fits.frames.size(); ++i) {
    const Frame& frame = profile.frames[i];
    for (std::uint32_t line = 0; line < frame.line_count; ++line)
      fits.frames[i] |= functions[profile.lines[frame.first_line + line].function.value];
  }
  return fits;
}

char marks_of(char wanted, char unwanted) {
  return static_cast<char>((wanted != 0 ? StackChoice::kWanted : 0) |
                           (unwanted != 0 ? StackChoice::kUnwanted : 0));
}

}  // namespace

Result<std::shared_ptr<const StackChoice>> choose_stacks(const Profile& profile,
                                                         const std::vector<std::string>& focus,
                                                         const std::vector<std::string>& ignore) {
  if (focus.empty() && ignore.empty()) return std::shared_ptr<const StackChoice>();
  const Result<Fits> wanted = find_fits(profile, focus);
  if (!wanted) return tl::unexpected(wanted.error());
  const Result<Fits> unwanted = find_fits(profile, ignore);
  if (!unwanted) return tl::unexpected(unwanted.error());
  auto choice = std::make_shared<StackChoice>();
  choice->focus = focus;
  choice->ignore = ignore;
  choice->marks.resize(profile.stacks.size());
  for (std::size_t i = 1; i < choice->marks.size(); ++i) {  // a parent comes before its children
    const Stack& stack = profile.stacks[i];
    choice->marks[i] =
        static_cast<char>(choice->marks[stack.parent.value] |
                          marks_of(wanted->frames[stack.frame.value], unwanted->frames[stack.frame.value]));
  }
  for (std::size_t i = 0; i < kCauseCount; ++i)
    choice->of_cause[i] = marks_of(wanted->causes[i], unwanted->causes[i]);
  for (std::size_t i = 0; i < wanted->idle_rules.size(); ++i)
    choice->of_idle.push_back(marks_of(wanted->idle_rules[i], unwanted->idle_rules[i]));
  return std::shared_ptr<const StackChoice>(std::move(choice));
}

}  // namespace fathom::analysis
