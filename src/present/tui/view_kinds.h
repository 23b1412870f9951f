// The views that number keys and Tab lead to, in their order, and what they have in common.
#pragma once

#include <array>
#include <string_view>

#include "present/tui/browser.h"

namespace fathom::tui {

struct Tab {
  ViewKind kind;
  std::string_view name;
};
// 2 to 7 as on the page (web/src/state.ts), whose flame graph has the 1.
constexpr std::array<Tab, 9> kTabs = {{{ViewKind::kAnswer, "answer"},
                                       {ViewKind::kFlat, "flat"},
                                       {ViewKind::kCallers, "callers"},
                                       {ViewKind::kThreads, "threads"},
                                       {ViewKind::kWaits, "waits"},
                                       {ViewKind::kHeap, "heap"},
                                       {ViewKind::kTree, "tree"},
                                       {ViewKind::kCallees, "callees"},
                                       {ViewKind::kAnnotate, "annotate"}}};

inline bool needs_function(ViewKind kind) {
  return kind == ViewKind::kCallers || kind == ViewKind::kCallees || kind == ViewKind::kAnnotate;
}

inline bool is_text(ViewKind kind) {
  return kind == ViewKind::kAnnotate || kind == ViewKind::kWaits || kind == ViewKind::kHeap ||
         kind == ViewKind::kAnswer || kind == ViewKind::kHelp;
}

}  // namespace fathom::tui
