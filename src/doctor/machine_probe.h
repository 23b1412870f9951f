// Finds out what this kernel allows this user: tries it, and takes it back at once. Changes nothing.
#pragma once

#include <string>
#include <string_view>

#include "doctor/facts.h"

namespace fathom::doctor {

MachineFacts probe_machine();

// "none [integrity] confidentiality" -> "integrity".
std::string parse_lockdown(std::string_view text);

}  // namespace fathom::doctor
