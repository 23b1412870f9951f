// Code that is not the user's: language libraries, runtimes, executors, parkers and locks. The rules are in
// runtime_rules.txt, which describes its own format and is compiled into the program. The rest is the user's
// own code (own_code.h), for CPU time and for waits alike.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::analysis {

extern const std::string_view kRuntimeRulesText;

class RuntimeRules {
 public:
  // kMalformed with the number of the line. `name` is the file's.
  static Result<RuntimeRules> parse(std::string_view text, const std::string& name);

  bool has_module(std::string_view name) const;    // "libc.so.6"
  bool has_source(std::string_view path) const;    // "/rustc/1.80/library/std/src/io.rs"
  bool has_function(std::string_view name) const;  // by its namespace, or by its name
  bool starts(std::string_view name) const;        // "main", an interpreter's loop: starts everything else
  bool begins(
      std::string_view name) const;  // "__libc_start_call_main": how the system starts programs and threads
  bool has_namespace(std::string_view name) const;  // "tokio"

 private:
  std::vector<std::string> modules_, sources_, functions_, starts_, begins_;  // beginnings, parts, globs
  std::set<std::string, std::less<>> namespaces_;
  std::vector<std::string> namespace_starts_;
};

// Those of runtime_rules.txt.
const RuntimeRules& built_in_runtime_rules();

}  // namespace fathom::analysis
