// A diagnosis and the facts behind it as text for people, sentences first, and as JSON for scripts.
#pragma once

#include <string>

#include "tools/doctor/diagnosis.h"
#include "tools/doctor/facts.h"

namespace fathom::doctor {

std::string to_text(const Diagnosis& diagnosis, const MachineFacts& machine, const TargetFacts* target);

// {"engine": "bpf" or null, "sentences": [...],
//  "engines":  [{"name", "works", "buys", "problem"}],
//  "findings": [{"severity": "obstacle" | "limit" | "note", "text", "remedies": [{"command",
//  "side_effects"}]}], "machine":  {...}, "target": {...} or null}
std::string to_json(const Diagnosis& diagnosis, const MachineFacts& machine, const TargetFacts* target);

}  // namespace fathom::doctor
