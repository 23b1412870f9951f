// The parts of a program, as its developers think of them: names, each with the functions and modules that belong to it. A file of
// rules has a line for each:
//
//   # what a node spends its time on
//   execution = revm evm_interpreter
//   database  = reth_db mdbx_ libmdbx.so
//   network   = /^(hyper|h2|tokio::net)::/
//
// A pattern is what users type to name a function (name_pattern.h), or a part of a module's name. The first line that fits counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/name_pattern.h"
#include "base/result.h"

namespace fathom::analysis {

class Subsystems {
 public:
  // `path` is for messages, which name the line. kMalformed for a line without a name or patterns, and for a text with no
  // lines or more than kMost.
  static Result<Subsystems> parse(std::string_view text, const std::string& path);

  // Number of the line that fits; nullopt: none does.
  std::optional<std::size_t> find(const std::string& function, std::string_view module) const;
  const std::string& name(std::size_t number) const { return rules_[number].name; }
  std::size_t size() const { return rules_.size(); }
  static constexpr std::size_t kMost = 63;

 private:
  struct Rule {
    std::string name;
    std::vector<NamePattern> patterns;
  };
  std::vector<Rule> rules_;
};

}  // namespace fathom::analysis
