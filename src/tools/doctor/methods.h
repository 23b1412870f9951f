// The ways to look at a process: which of them work here, what each costs and shows. The figures are those of docs/performance.md;
// record --dry-run turns them into an estimate for a process as it runs.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/diagnosis.h"

namespace fathom::doctor {

struct Method {
  std::string command;  // to be typed: "fathom record --heap -p 12"
  bool works = false;
  std::string problem;  // why it does not; empty if it works
  std::string cost;
  std::string shows;
};

// Pure. `target` may be null: then commands name PID. `engine` as in Diagnosis.
std::vector<Method> methods_of(const MachineFacts& machine, const TargetFacts* target,
                               const std::string& engine);

// The table of doctor, with its heading.
std::string methods_table(const std::vector<Method>& methods);

}  // namespace fathom::doctor
