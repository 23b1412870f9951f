// For tests: a server before and after a change, 20 s each at 100 Hz: `root` became slower, `rehash` is new,
// `copy` is gone, everything else is unchanged. The names come from two builds, and one of them contains
// characters that a terminal must not get.
#pragma once

#include <string>

#include "analysis/core/hand_made_profile.h"
#include "analysis/diff/diff.h"

namespace fathom::analysis {

inline model::Profile side_of_change(bool after) {
  HandMade hand;
  const auto app =
      hand.module(after ? "server-2" : "server-1", model::ModuleKind::kFile, model::SymbolSource::kDwarf);
  const auto libc = hand.module(after ? "libc-2.36.so" : "libc-2.31.so");
  const auto stripped = hand.module("libcodec.so.1", model::ModuleKind::kFile, model::SymbolSource::kNone);
  hand.profile.modules[stripped.value].build_id = hand.builder.string(after ? "bb" : "aa");
  const auto process = hand.process(10, "server");
  hand.profile.processes[0].executable =
      hand.builder.string(after ? "/usr/bin/server-2" : "/usr/bin/server-1");
  hand.profile.meta.target = "server (pid 10)";
  hand.profile.meta.end_ns = hand.profile.meta.start_ns + 20'000'000'000;
  const auto worker = hand.thread(process, 11, after ? "worker-7" : "worker-3");
  const auto main = hand.frame(app, {"main"});
  const auto line = [&](const std::string& name, std::uint32_t number) {
    return hand.builder.frame_with_lines(app, ElfAddress{number}, {{name, "/src/trie.rs", number}});
  };
  const auto root = line(after ? "Trie::root.llvm.7712" : "Trie::root.llvm.123", 310);
  const auto root_plain = line("Trie::root", 311);
  const auto rehash = line("Trie::rehash", 355);
  const auto serve = line("Server::serve<alloc::string::String>", 20);
  const auto memcpy_ = hand.frame(libc, {"memcpy"});
  const auto copy = line("Trie::copy", 400);
  const auto hostile = hand.frame(app, {"<b>\x1b[31m|`bad\xff\n"});
  const auto codec = hand.unnamed(stripped, after ? 0x200 : 0x100);
  for (int tenth = 0; tenth < 200; ++tenth) {
    const double at = tenth * 0.1;
    hand.sample(worker, hand.stack({main, serve}), 3, at);
    hand.sample(worker, hand.stack({main, serve, after ? root_plain : root}), after ? 3 : 1, at + 0.03);
    if (after) hand.sample(worker, hand.stack({main, serve, root_plain, rehash}), 1, at + 0.06);
    if (!after) hand.sample(worker, hand.stack({main, copy, memcpy_}), 1, at + 0.07);
    if (tenth % 2 == 0) hand.sample(worker, hand.stack({main, hostile}), 1, at + 0.08);
    if (tenth % 4 == 0) hand.sample(worker, hand.stack({main, codec}), 1, at + 0.09);
  }
  return std::move(hand.profile);
}

inline DiffReport compare_sides(const model::Profile& base, const model::Profile& fresh,
                                const DiffOptions& options = {}) {
  DiffRun a, b;
  a.profile = &base;
  a.label = "old.fathom";
  b.profile = &fresh;
  b.label = "new.fathom";
  return make_diff({a}, {b}, options).value();
}

}  // namespace fathom::analysis
