// Finds out what this kernel allows this user: tries it, and takes it back at once. Changes nothing.
#pragma once

#include <string>
#include <string_view>

#include "tools/doctor/facts.h"

namespace fathom::doctor {

// `target`: the process on which the engines are tried; 0: a child of ours.
MachineFacts probe_machine(int target = 0);

// "none [integrity] confidentiality" -> "integrity".
std::string parse_lockdown(std::string_view text);

}  // namespace fathom::doctor
