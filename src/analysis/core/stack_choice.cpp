#include "analysis/core/stack_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "analysis/core/code_name.h"
#include "analysis/core/idle.h"
#include "analysis/core/name_pattern.h"

namespace fathom::analysis {
namespace {

using namespace model;

// What fits one of some patterns.
struct Fits {
  std::vector<char> frames;  // by row of the frames: a line of it does
  std::vector<char> functions;
  std::array<char, kCauseCount> causes{};
  std::vector<char> idle_rules;
  std::map<std::string, std::size_t> shared_names;  // as StackChoice
};

// Whether a cause or an idle rule fits; of a recording without waits none is shown.
bool mark_waits(const Profile& profile, const NamePattern& pattern, Fits& fits) {
  if (profile.all_waits().empty()) return false;
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

// "module:NAME", "crate:NAME": what is behind the colon; a name that goes on with another one ("crate::run") is a name.
std::optional<std::string> behind(std::string_view word, const std::string& text) {
  if (!text.starts_with(word) || text.size() == word.size() || text[word.size()] == ':') return std::nullopt;
  return text.substr(word.size());
}

// All functions of what the pattern names; `name_of(module, function)` is what it is held against.
template <class NameOf>
bool mark_group(const Profile& profile, const NamePattern& pattern, const NameOf& name_of, Fits& fits) {
  bool found = false;
  for (std::size_t i = 0; i < fits.functions.size(); ++i) {
    const Function& function = profile.functions[i];
    if (!pattern.matches(name_of(function.module, std::string(profile.strings[function.name])))) continue;
    fits.functions[i] = 1;
    found = true;
  }
  for (std::size_t i = 0; i < fits.frames.size(); ++i) {
    const Frame& frame = profile.frames[i];
    if (frame.line_count != 0 || !pattern.matches(name_of(frame.module, profile.pseudo_name(frame))))
      continue;
    fits.frames[i] = 1;
    found = true;
  }
  return found;
}

// Nothing where the text is a pattern of names; else whether a function fits.
Result<std::optional<bool>> mark_named_group(const Profile& profile, const std::string& text, Fits& fits) {
  const std::optional<std::string> module = behind("module:", text), crate = behind("crate:", text);
  if (!module && !crate) return std::optional<bool>();
  const Result<NamePattern> pattern = NamePattern::parse(module ? *module : *crate);
  if (!pattern) return tl::unexpected(pattern.error());
  return std::optional(mark_group(
      profile, *pattern,
      [&](ModuleId of, const std::string& name) {
        return std::string(module ? profile.strings[profile.modules[of.value].name] : crate_of(name));
      },
      fits));
}

Result<Fits> find_fits(const Profile& profile, const std::vector<std::string>& texts) {
  Fits fits{
      std::vector<char>(profile.frames.size()), std::vector<char>(profile.functions.size()), {}, {}, {}};
  std::vector<char>& functions = fits.functions;
  fits.idle_rules.resize(built_in_idle_rules().rules.size());
  for (const std::string& text : texts) {
    const Result<std::optional<bool>> group = mark_named_group(profile, text, fits);
    if (!group) return tl::unexpected(group.error());
    if (*group && !**group)
      return fail(
          ErrorKind::kNotFound, fmt::format("nothing matches '{}'", text),
          "a part of its name, or a regular expression between slashes; report --modules lists modules");
    if (*group) continue;
    const Result<NamePattern> pattern = NamePattern::parse(text);
    if (!pattern) return tl::unexpected(pattern.error());
    bool found = mark_waits(profile, *pattern, fits);
    std::set<std::uint32_t> fitting;  // rows of the strings
    std::size_t named = 0;            // of these: what the text is the short name of
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const std::string name(profile.strings[profile.functions[i].name]);
      if (!pattern->matches(name)) continue;
      functions[i] = 1;
      found = true;
      if (!fitting.insert(profile.functions[i].name.value).second) continue;
      named += !pattern->is_expression() && pattern->fit(name) == NameFit::kName ? 1 : 0;
    }
    if (named > 1) fits.shared_names.emplace(text, fitting.size());
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

char StackChoice::cut_of_cause(const std::string& frame) const {
  const auto fits = [&](const NamePattern& pattern) { return pattern.matches(frame); };
  return static_cast<char>((std::ranges::any_of(hidden, fits) ? kHidden : 0) |
                           (std::ranges::any_of(starts, fits) ? kStart : 0));
}

Result<std::shared_ptr<const StackChoice>> choose_stacks(const Profile& profile,
                                                         const std::vector<std::string>& focused,
                                                         const std::vector<std::string>& ignore,
                                                         const StackCuts& cuts) {
  std::vector<std::string> focus = focused;
  focus.insert(focus.end(), cuts.show_from.begin(), cuts.show_from.end());
  if (focus.empty() && ignore.empty() && cuts.hide.empty()) return std::shared_ptr<const StackChoice>();
  const Result<Fits> hidden = find_fits(profile, cuts.hide);
  if (!hidden) return tl::unexpected(hidden.error());
  const Result<Fits> starts = find_fits(profile, cuts.show_from);
  if (!starts) return tl::unexpected(starts.error());
  const Result<Fits> wanted = find_fits(profile, focus);
  if (!wanted) return tl::unexpected(wanted.error());
  const Result<Fits> unwanted = find_fits(profile, ignore);
  if (!unwanted) return tl::unexpected(unwanted.error());
  auto choice = std::make_shared<StackChoice>();
  choice->shared_names = wanted->shared_names;
  for (const Fits* fits : {&*unwanted, &*hidden, &*starts})
    choice->shared_names.insert(fits->shared_names.begin(), fits->shared_names.end());
  choice->focus = focus;
  choice->ignore = ignore;
  if (!cuts.hide.empty() || !cuts.show_from.empty()) {
    const auto bits = [](const std::vector<char>& hide, const std::vector<char>& start) {
      std::vector<char> out(hide.size());
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<char>((hide[i] != 0 ? StackChoice::kHidden : 0) |
                                   (start[i] != 0 ? StackChoice::kStart : 0));
      return out;
    };
    choice->function_cuts = bits(hidden->functions, starts->functions);
    choice->frame_cuts = bits(hidden->frames, starts->frames);
  }
  for (const std::string& text : cuts.hide) choice->hidden.push_back(NamePattern::parse(text).value());
  for (const std::string& text : cuts.show_from) choice->starts.push_back(NamePattern::parse(text).value());
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
