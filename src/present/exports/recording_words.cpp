#include <array>

#include "present/exports/recording_json.h"

namespace fathom::present {
namespace {

// The words stand in the order of the enumeration. What a later version of the model adds has none yet.
template <std::size_t kCount, class Enum>
std::string_view word_in(const std::array<std::string_view, kCount>& words, Enum value) {
  const auto row = static_cast<std::size_t>(value);
  return row < kCount ? words[row] : "unknown";
}

}  // namespace

std::string_view word_of(model::ModuleKind kind) {
  static constexpr std::array<std::string_view, 6> kWords{"unknown", "file",      "kernel",
                                                          "vdso",    "anonymous", "names"};
  return word_in(kWords, kind);
}
std::string_view word_of(model::SymbolSource source) {
  static constexpr std::array<std::string_view, 8> kWords{"none",     "dynsym",   "symtab", "dwarf",
                                                          "kallsyms", "perf map", "pseudo", "go"};
  return word_in(kWords, source);
}
std::string_view word_of(model::Metric metric) {
  return model::to_string(metric);
}
std::string_view word_of(model::ObjectKind kind) {
  static constexpr std::array<std::string_view, 9> kWords{"none", "futex",  "file", "mapped file", "memory",
                                                          "pipe", "socket", "poll", "process"};
  return word_in(kWords, kind);
}
std::string_view word_of(model::WaitState state) {
  static constexpr std::array<std::string_view, 6> kWords{"preempted", "interruptible", "uninterruptible",
                                                          "stopped",   "traced",        "other"};
  return word_in(kWords, state);
}
std::string_view word_of(model::HeapMode mode) {
  static constexpr std::array<std::string_view, 2> kWords{"sampled", "exact"};
  return word_in(kWords, mode);
}
std::string_view word_of(model::HookKind kind) {
  static constexpr std::array<std::string_view, 4> kWords{"none", "slot", "entry", "probe"};
  return word_in(kWords, kind);
}
std::string_view word_of(model::HeapHistogramKind kind) {
  static constexpr std::array<std::string_view, 3> kWords{"size", "lifetime", "age"};
  return word_in(kWords, kind);
}
std::string_view word_of(model::MemoryKind kind) {
  static constexpr std::array<std::string_view, 13> kWords{
      "unknown",    "file",         "file data", "shared", "allocator", "break",    "mapped",
      "main stack", "thread stack", "tracer",    "kernel", "huge file", "not split"};
  return word_in(kWords, kind);
}

}  // namespace fathom::present
