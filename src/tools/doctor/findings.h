// Parts of diagnose(): what is worth telling about the machine and about the target, each with what helps. Pure.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/diagnosis.h"
#include "tools/doctor/facts.h"

namespace fathom::doctor {

std::string target_name(const TargetFacts& target);  // "redis-server (pid 12)"
bool is_supported(const MachineFacts& machine);      // fathom has an engine for its processor
bool has_all_names(const ModuleHealth& module);      // also of functions that are not exported

// The reasons for which bpf or perf events are refused. `so_far` has the verdicts on the engines. `target` may be null.
void find_obstacles(const MachineFacts& machine, const TargetFacts* target, const Diagnosis& so_far,
                    std::vector<Finding>& findings);
// What works and shows less than elsewhere. `so_far` also has the engine that is used. `target` may be null.
void find_limits(const MachineFacts& machine, const TargetFacts* target, const Diagnosis& so_far,
                 std::vector<Finding>& findings);
void find_in_target(const TargetFacts& target, std::vector<Finding>& findings);

}  // namespace fathom::doctor
