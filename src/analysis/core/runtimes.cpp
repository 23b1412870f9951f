#include "analysis/core/runtimes.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/code_owner.h"
#include "analysis/core/idle.h"
#include "base/parse.h"

namespace fathom::analysis {
namespace {

// The first word of `rest`, which then has the others; empty at the end.
std::string_view next_word(std::string_view& rest) {
  const std::size_t start = rest.find_first_not_of(" \t\r");
  if (start == rest.npos) return {};
  const std::size_t end = std::min(rest.find_first_of(" \t\r", start), rest.size());
  const std::string_view word = rest.substr(start, end - start);
  rest.remove_prefix(end);
  return word;
}

bool matches_one_of(const std::vector<std::string>& globs, std::string_view name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return matches_glob(glob, name); });
}

bool begins_with_one_of(const std::vector<std::string>& starts, std::string_view text) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](const std::string& start) { return text.starts_with(start); });
}

}  // namespace

Result<RuntimeRules> RuntimeRules::parse(std::string_view text, const std::string& name) {
  RuntimeRules rules;
  const auto take = [&](std::string_view line) -> std::string {
    const std::string_view kind = next_word(line);
    if (kind.empty() || kind.front() == '#') return "";
    std::string_view word = next_word(line);
    if (word.empty()) return fmt::format("nothing after '{}'", kind);
    for (; !word.empty(); word = next_word(line)) {
      if (kind == "module") {
        rules.modules_.emplace_back(word);
      } else if (kind == "source") {
        rules.sources_.emplace_back(word);
      } else if (kind == "function") {
        rules.functions_.emplace_back(word);
      } else if (kind == "start") {
        rules.starts_.emplace_back(word);
      } else if (kind == "begin") {
        rules.begins_.emplace_back(word);
      } else if (kind != "namespace") {
        return fmt::format("'{}' is not a kind of rule", kind);
      } else if (word.ends_with('*')) {
        rules.namespace_starts_.emplace_back(word.substr(0, word.size() - 1));
      } else {
        rules.namespaces_.emplace(word);
      }
    }
    return "";
  };
  for (std::size_t number = 1; !text.empty(); ++number) {
    if (const std::string problem = take(take_until(text, '\n')); !problem.empty())
      return fail(ErrorKind::kMalformed, fmt::format("{}:{}: {}", name, number, problem));
  }
  return rules;
}

bool RuntimeRules::has_module(std::string_view name) const {
  return begins_with_one_of(modules_, name.substr(name.rfind('/') + 1));
}

bool RuntimeRules::has_source(std::string_view path) const {
  return std::any_of(sources_.begin(), sources_.end(),
                     [&](const std::string& part) { return path.find(part) != path.npos; });
}

bool RuntimeRules::starts(std::string_view name) const {
  return matches_one_of(starts_, name);
}

bool RuntimeRules::begins(std::string_view name) const {
  return matches_one_of(begins_, name);
}

bool RuntimeRules::has_namespace(std::string_view name) const {
  return !name.empty() && (namespaces_.contains(name) || begins_with_one_of(namespace_starts_, name));
}

bool RuntimeRules::has_function(std::string_view name) const {
  return has_namespace(namespace_of(name)) || matches_one_of(functions_, name);
}

const RuntimeRules& built_in_runtime_rules() {
  // A test reads them too, so they are well formed.
  static const RuntimeRules kRules =
      RuntimeRules::parse(kRuntimeRulesText, "runtime_rules.txt").value_or(RuntimeRules{});
  return kRules;
}

}  // namespace fathom::analysis
