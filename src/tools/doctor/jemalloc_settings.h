// Which jemalloc is in a process, what it can do, and where its settings come from. Reads files and /proc only.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/doctor/facts.h"
#include "tools/doctor/malloc_conf.h"

namespace fathom::doctor {

struct JemallocFact {
  std::string label, module;  // as of AllocatorFact
  std::string prefix;         // of its functions
  // Its file holds what writes dumps. Not known where the file that is mapped cannot be read.
  std::optional<bool> profiling;
  // Variables of the environment at the start whose names end in MALLOC_CONF, whether it reads them or not.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string link;    // what /etc/malloc.conf points to; empty: there is none
  std::string root{};  // the target's root folder, as we open it: "/proc/12/root"
};

// Of the jemallocs among `target.allocators`.
std::vector<JemallocFact> jemallocs_of(int pid, const TargetFacts& target);
MallocConfTarget conf_target_of(const JemallocFact& fact);

// "NAME=VALUE" pairs of an environment whose names end in MALLOC_CONF. `environ` is the text of /proc/PID/environ.
std::vector<std::pair<std::string, std::string>> malloc_conf_variables(std::string_view environ);
// What precedes "malloc" in the names of its functions.
std::string prefix_of(const std::vector<std::string>& functions);

std::string to_text(const JemallocFact& fact);

}  // namespace fathom::doctor
