// Names of code that a run time made, as it writes them into its perf map: what is called, and where that begins. Sources: V8
// src/logging/log.cc and src/diagnostics/perf-jit.cc ("JS:*add /app/x.js:1:2"), CPython Python/perf_trampoline.c
// ("py::add:/app/x.py").
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fathom::analysis {

struct GeneratedName {
  std::string function;  // empty: it has none
  std::string place;     // "x.js:1", "x.py"
};

// nullopt: no name of such code, or one that does not say where it begins.
std::optional<GeneratedName> generated_name(std::string_view name);

}  // namespace fathom::analysis
