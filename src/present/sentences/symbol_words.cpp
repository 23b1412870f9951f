#include "present/sentences/symbol_words.h"

namespace fathom::present {

std::string_view to_string(model::SymbolSource source) {
  switch (source) {
    case model::SymbolSource::kNone:
      return "none";
    case model::SymbolSource::kDynsym:
      return "dynsym";
    case model::SymbolSource::kSymtab:
      return "symtab";
    case model::SymbolSource::kDwarf:
      return "dwarf";
    case model::SymbolSource::kKallsyms:
      return "kallsyms";
    case model::SymbolSource::kPerfMap:
      return "perf-map";
    case model::SymbolSource::kPseudo:
      return "pseudo";
    case model::SymbolSource::kGo:
      return "go";
  }
  return "unknown";
}

std::string_view describe(model::SymbolSource source) {
  switch (source) {
    case model::SymbolSource::kNone:
      return "no names found";
    case model::SymbolSource::kDynsym:
      return "exported names only";
    case model::SymbolSource::kSymtab:
      return "all functions";
    case model::SymbolSource::kDwarf:
      return "functions, inlined calls, lines";
    case model::SymbolSource::kKallsyms:
      return "kernel symbols";
    case model::SymbolSource::kPerfMap:
      return "perf map";
    case model::SymbolSource::kPseudo:
      return "function bounds only";
    case model::SymbolSource::kGo:
      return "Go functions, inlined calls, lines";
  }
  return "unknown";
}

std::string_view missing_of(model::SymbolSource source) {
  switch (source) {
    case model::SymbolSource::kNone:
    case model::SymbolSource::kPseudo:
      return "names of functions, lines, inlined calls";
    case model::SymbolSource::kDynsym:
      return "names of functions that are not exported, lines, inlined calls";
    case model::SymbolSource::kSymtab:
      return "lines and inlined calls";
    default:
      return "";
  }
}

std::string_view lack_of(model::SymbolSource source) {
  switch (source) {
    case model::SymbolSource::kDynsym:
      return "has exported names only";
    case model::SymbolSource::kPseudo:
      return "is stripped: functions are separated, and named by their address";
    default:
      return "has no names";
  }
}

}  // namespace fathom::present
