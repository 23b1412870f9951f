#include "analysis/core/subsystems.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/parse.h"
#include "base/text.h"

namespace fathom::analysis {
namespace {

constexpr std::string_view kBlank = " \t\r";

// The next word of `rest`, without it; an expression between slashes may have blanks in it.
std::string take_word(std::string_view& rest) {
  std::size_t end = std::min(rest.find_first_of(kBlank), rest.size());
  if (rest.starts_with('/'))
    if (const std::size_t close = rest.find('/', 1); close != rest.npos) end = close + 1;
  const std::string word(rest.substr(0, end));
  rest = trimmed(rest.substr(end));
  return word;
}

}  // namespace

Result<Subsystems> Subsystems::parse(std::string_view text, const std::string& path) {
  Subsystems found;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = trimmed(take_until(text, '\n'));
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t equals = line.find('=');
    const std::string_view name = trimmed(line.substr(0, equals));
    std::string_view rest = equals == line.npos ? std::string_view() : trimmed(line.substr(equals + 1));
    if (name.empty() || rest.empty())
      return fail(ErrorKind::kMalformed,
                  fmt::format("{}: line {}: expected NAME = PATTERN PATTERN ...", path, number),
                  "database = reth_db mdbx_ libmdbx.so");
    Rule rule{std::string(name), {}};
    while (!rest.empty()) {
      auto pattern = NamePattern::parse(take_word(rest));
      if (!pattern) return within(fmt::format("{}: line {}", path, number), pattern.error());
      rule.patterns.push_back(std::move(*pattern));
    }
    found.rules_.push_back(std::move(rule));
  }
  if (found.size() > kMost)
    return fail(ErrorKind::kMalformed, fmt::format("{}: more than {} subsystems", path, kMost),
                "several patterns on one line");
  if (found.size() == 0)
    return fail(ErrorKind::kMalformed, fmt::format("{}: no subsystem is in this file", path),
                "lines such as: database = reth_db mdbx_ libmdbx.so");
  return found;
}

std::optional<std::size_t> Subsystems::find(const std::string& function, std::string_view module) const {
  for (std::size_t i = 0; i < rules_.size(); ++i)
    for (const NamePattern& pattern : rules_[i].patterns)
      if (pattern.matches(function) ||
          (!pattern.is_expression() && module.find(pattern.text()) != module.npos))
        return i;
  return std::nullopt;
}

}  // namespace fathom::analysis
