// Which code creates descriptors, threads and children: from counted system calls (record --syscalls), else from samples in the calls
// that do so and from waits in them. A program that does so ten times a second is seldom caught, and then it may be chance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/summary/resource_growth.h"
#include "model/profile.h"

namespace fathom::analysis {

// "__x64_sys_openat" -> "openat"; "": not the kernel's entry of a system call.
std::string_view system_call_of_entry(std::string_view kernel_function);

// Does this system call create one? `kind`: see ResourceGrowth; "socket" leaves out calls that open files.
bool creates_resource(std::string_view system_call, CountedResource resource, std::string_view kind);

// Functions that were seen to give one back, too, are left out; where calls were counted, those that give back half of what they make.
// nullopt: no call was seen, no function makes half of the others, or fewer than five were seen and not all are of one function.
std::optional<ResourceMaker> find_resource_maker(const model::Profile& profile, const ResourceGrowth& growth);

// What the threads that began in the recording and did not end have in common: "worker_main" if they start in this function, else
// their name. "": nothing.
std::string start_of_new_threads(const model::Profile& profile, std::int32_t pid);
// The program that most children of the process run. "": it is unknown.
std::string program_of_children(const model::Profile& profile, std::int32_t pid);

}  // namespace fathom::analysis
