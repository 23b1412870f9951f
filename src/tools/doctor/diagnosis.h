// Facts -> advice to the user: which engine fathom would use, what stands in the way, how to change that, and
// what the change costs. Pure.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/facts.h"

namespace fathom::doctor {

struct Remedy {
  std::string command;  // to be typed as it stands, or an instruction where no command does it
  std::string side_effects;
  bool operator==(const Remedy&) const = default;
};

struct Finding {
  enum class Severity {
    kObstacle,  // something that one would expect does not work
    kLimit,     // it works, and shows less
    kNote,      // worth knowing
  };
  Severity severity = Severity::kNote;
  std::string text;  // a sentence
  std::vector<Remedy> remedies;
};

struct EngineVerdict {
  std::string name;  // "bpf", "perf", "proc"
  bool works = false;
  std::string buys;     // what it would show
  std::string problem;  // why it does not work
};

struct Diagnosis {
  std::string engine;                  // that `fathom record` would use; empty: none works
  std::vector<std::string> sentences;  // the outcome, most important first
  std::vector<EngineVerdict> engines;  // best first
  std::vector<Finding> findings;       // obstacles first
};

// `target` may be null: then of the machine alone.
Diagnosis diagnose(const MachineFacts& machine, const TargetFacts* target);

}  // namespace fathom::doctor
