// What well-known functions do, in a word, so that a reader who has never seen their names knows the cost: "gc_collect_main
// (garbage collection)". Names of languages' runtimes and widespread libraries, by patterns in cost_rules.txt.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fathom::analysis {

extern const std::string_view kCommonCostsText;

// "garbage collection" for "gc_collect_main"; nullopt for functions that no rule names.
std::optional<std::string> common_cost(std::string_view function);

// "the system call write" for "__x64_sys_write", "page faults" for "asm_exc_page_fault"; else the name.
std::string spoken_kernel_work(std::string_view function);

}  // namespace fathom::analysis
