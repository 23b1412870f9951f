// The words of the model's enumerations, as JSON, SQL and the documentation write them, in the order of the enumeration. A value
// without a word is unknown: a later version wrote it.
#pragma once

#include <array>
#include <string_view>
#include <type_traits>

#include "model/profile.h"

namespace fathom::model {

template <class Enum>
struct Words;
template <>
struct Words<ModuleKind> {
  static constexpr std::array<std::string_view, 6> kAll{"unknown", "file",      "kernel",
                                                        "vdso",    "anonymous", "names"};
};
template <>
struct Words<SymbolSource> {
  static constexpr std::array<std::string_view, 8> kAll{"none",     "dynsym",   "symtab", "dwarf",
                                                        "kallsyms", "perf map", "pseudo", "go"};
};
// Those of samples; metric.h has all, with their units.
template <>
struct Words<Metric> {
  static constexpr std::array<std::string_view, 5> kAll{"cpu", "off-cpu", "wall", "heap-allocated",
                                                        "heap-allocations"};
};
template <>
struct Words<ObjectKind> {
  static constexpr std::array<std::string_view, 9> kAll{"none", "futex",  "file", "mapped file", "memory",
                                                        "pipe", "socket", "poll", "process"};
};
template <>
struct Words<WaitState> {
  static constexpr std::array<std::string_view, 6> kAll{"preempted", "interruptible", "uninterruptible",
                                                        "stopped",   "traced",        "other"};
};
template <>
struct Words<SpanSource> {
  static constexpr std::array<std::string_view, 8> kAll{"unknown", "marker file", "chrome trace", "function",
                                                        "mark",    "firefox",     "otlp",         "jaeger"};
};
template <>
struct Words<HeapMode> {
  static constexpr std::array<std::string_view, 2> kAll{"sampled", "exact"};
};
template <>
struct Words<HookKind> {
  static constexpr std::array<std::string_view, 4> kAll{"none", "slot", "entry", "probe"};
};
template <>
struct Words<HeapHistogramKind> {
  static constexpr std::array<std::string_view, 3> kAll{"size", "lifetime", "age"};
};
template <>
struct Words<MemoryKind> {
  static constexpr std::array<std::string_view, 13> kAll{
      "unknown",    "file",         "file data", "shared", "allocator", "break",    "mapped",
      "main stack", "thread stack", "tracer",    "kernel", "huge file", "not split"};
};

template <class Enum>
requires std::is_enum_v<Enum>
constexpr bool is_known(Enum value) {
  return static_cast<std::size_t>(value) < Words<Enum>::kAll.size();
}
template <class Enum>
requires std::is_enum_v<Enum>
constexpr std::string_view word_of(Enum value) {
  return is_known(value) ? Words<Enum>::kAll[static_cast<std::size_t>(value)] : "unknown";
}

}  // namespace fathom::model
