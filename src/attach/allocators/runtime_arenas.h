// Allocators inside of language runtimes, which hand out pieces of arenas that they map by themselves: their blocks are
// no calls of malloc, and are seen only where a setting of the runtime makes them so.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/allocators/find.h"

namespace fathom::allocators {

// Those that this file defines; by exported names and sections, which stripping leaves.
std::vector<Unseen> runtime_arenas(const elf::ElfFile& file);

// Whether Python ignores its environment variables (-E, -I). `command_line`: the text of /proc/PID/cmdline.
bool python_ignores_environment(std::string_view command_line);

// Where the target's environment turns its arenas off: "pymalloc is said to be switched off by
// PYTHONMALLOC=malloc in its environment". The target can write anything there, so this is a claim and not a
// fact. nullopt: no such setting, or the runtime ignores its environment. `has`: whether a setting is in the
// environment.
std::optional<std::string> said_to_be_off(const Unseen& unseen,
                                          const std::function<bool(const std::string&)>& has,
                                          std::string_view command_line);

}  // namespace fathom::allocators
