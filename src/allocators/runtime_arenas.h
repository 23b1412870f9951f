// Allocators inside of language runtimes, which hand out pieces of arenas that they map by themselves: their blocks are
// no calls of malloc, and are seen only where a setting of the runtime makes them so.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocators/find.h"

namespace fathom::allocators {

// Those that this file defines; by exported names and sections, which stripping leaves.
std::vector<Unseen> runtime_arenas(const elf::ElfFile& file);

// Whether Python was told to look at none of its variables (-E, -I). `command_line`: the text of /proc/PID/cmdline.
bool python_ignores_environment(std::string_view command_line);

// Where the target's own environment says that its arenas are off: "pymalloc is said to be switched off by
// PYTHONMALLOC=malloc in its environment". The target can write what it likes there, so it is said and not known.
// nullopt: nothing says so, or the runtime was told not to look there. `has`: whether a setting is in the environment.
std::optional<std::string> said_to_be_off(const Unseen& unseen,
                                          const std::function<bool(const std::string&)>& has,
                                          std::string_view command_line);

}  // namespace fathom::allocators
