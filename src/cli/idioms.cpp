#include "cli/idioms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fathom::cli {
namespace {

constexpr auto kIdioms = std::to_array<Idiom>({
    {"perf", "perf record -g -p PID", "fathom record -p PID"},
    {"perf", "perf record -F 99 -a -g -- sleep 30", "fathom record -a -F 99 -d 30"},
    {"perf", "perf record --call-graph dwarf -- CMD", "fathom record -- CMD"},
    {"perf", "perf report", "fathom report"},
    {"perf", "perf report --no-children", "fathom report --sort self"},
    {"perf", "perf annotate FUNCTION", "fathom report --annotate FUNCTION"},
    {"perf", "perf script | flamegraph.pl", "fathom flamegraph FILE -o x.svg"},
    {"perf", "perf script | stackcollapse-perf.pl", "fathom export FILE --to folded"},
    {"perf", "perf diff OLD NEW", "fathom diff OLD NEW"},
    {"perf", "perf stat -p PID", "fathom triage -p PID"},
    {"perf", "perf sched timehist", "fathom report --waits"},
    {"perf", "perf lock report", "fathom report --locks"},
    {"perf", "perf trace -s -p PID", "fathom record --syscalls -p PID, then fathom report --syscalls"},
    {"perf", "perf probe, perf record -e probe:F", "fathom record --probe F -p PID"},
    {"FlameGraph", "flamegraph.pl stacks.folded", "fathom flamegraph stacks.folded -o x.svg"},
    {"FlameGraph", "difffolded.pl A B | flamegraph.pl", "fathom diff A B --flamegraph x.svg"},
    {"samply", "samply record CMD", "fathom record --open -- CMD"},
    {"samply", "samply record -p PID", "fathom record -p PID, then fathom view"},
    {"samply", "samply record --save-only -o profile.json.gz CMD", "fathom record -o profile.json.gz -- CMD"},
    {"samply", "samply load profile.json", "fathom view profile.json"},
    {"heaptrack", "heaptrack CMD", "fathom record --heap=exact -- CMD"},
    {"heaptrack", "heaptrack -p PID", "fathom record --heap=exact -p PID"},
    {"heaptrack", "heaptrack_print FILE", "fathom report FILE --heap"},
    {"heaptrack", "heaptrack_gui FILE", "fathom view FILE"},
    {"memray", "memray run, memray attach PID", "fathom record --heap=exact -p PID"},
    {"memray", "memray flamegraph FILE", "fathom flamegraph FILE --metric heap-live"},
    {"memray", "memray flamegraph --leaks FILE", "fathom flamegraph FILE --metric heap-leaked"},
    {"memray", "memray tree FILE", "fathom report FILE --tree"},
    {"valgrind", "valgrind --leak-check=full CMD", "fathom record --leaks -- CMD"},
    {"valgrind", "valgrind --tool=massif CMD", "fathom record --heap -- CMD, then fathom timeline"},
    {"valgrind", "callgrind_annotate FILE", "fathom report FILE"},
    {"jeprof", "jeprof --text PROGRAM jeprof.*.heap", "fathom report jeprof.*.heap --symbols PROGRAM"},
    {"jeprof", "jeprof --svg PROGRAM DUMP", "fathom export DUMP --to callgraph -o x.svg --symbols PROGRAM"},
    {"jeprof", "jeprof --base OLD NEW", "fathom diff OLD NEW"},
    {"async-profiler", "asprof -d 30 -f x.html PID", "fathom record -d 30 -o x.html -p PID"},
    {"async-profiler", "asprof -e wall -d 30 PID",
     "fathom record -d 30 -p PID, then fathom report --metric wall"},
    {"async-profiler", "asprof -e alloc -d 30 PID", "fathom record --heap -d 30 -p PID"},
    {"py-spy", "py-spy record -o x.svg -p PID", "fathom record -o x.svg -p PID"},
    {"py-spy", "py-spy top -p PID", "fathom top -p PID"},
    {"pprof", "go tool pprof -top FILE", "fathom report FILE"},
    {"pprof", "go tool pprof -peek FN FILE", "fathom report FILE --callers FN"},
    {"pprof", "go tool pprof -svg FILE", "fathom export FILE --to callgraph -o x.svg"},
    {"pprof", "go tool pprof -http=: FILE", "fathom view FILE"},
    {"pmap", "pmap -X PID", "fathom watch PID --once --maps"},
    {"offcputime", "offcputime-bpfcc -p PID 30", "fathom record --off-cpu -p PID -d 30"},
    {"systemd-run", "systemd-run --scope -p MemoryMax=1G CMD", "fathom limit --memory 1g -- CMD"},
});

struct Foreign {
  std::string_view word, ours;
};
constexpr auto kForeign = std::to_array<Foreign>({
    {"script", "fathom export FILE --to folded"},
    {"annotate", "fathom report FILE --annotate FUNCTION"},
    {"stat", "fathom triage -p PID"},
    {"stats", "fathom report FILE --heap"},
    {"trace", "fathom record --syscalls -p PID, then fathom report --syscalls"},
    {"lock", "fathom report FILE --locks"},
    {"sched", "fathom report FILE --waits"},
    {"probe", "fathom record --probe FUNCTION -p PID"},
    {"load", "fathom view FILE"},
    {"import", "fathom view FILE"},
    {"run", "fathom record -- COMMAND"},
    {"attach", "fathom record -p PID"},
    {"tree", "fathom report FILE --tree"},
    {"table", "fathom report FILE --top 50"},
    {"summary", "fathom report FILE"},
    {"dump", "fathom record -p PID -d 1, then fathom report --threads"},
    {"collapse", "fathom export FILE --to folded"},
    {"heap", "fathom record --heap -p PID"},
});

}  // namespace

std::span<const Idiom> idioms() {
  return kIdioms;
}

std::string_view line_for_foreign_command(std::string_view word) {
  const auto found = std::ranges::find(kForeign, word, &Foreign::word);
  return found == kForeign.end() ? std::string_view() : found->ours;
}

std::string idioms_text() {
  std::string text = "What you type for other tools, and for fathom\n";
  std::string_view tool;
  for (const Idiom& idiom : kIdioms) {
    if (idiom.tool != tool) text += fmt::format("\n{}\n", idiom.tool);
    tool = idiom.tool;
    text += fmt::format("  {:<48}  {}\n", idiom.theirs, idiom.ours);
  }
  return text;
}

}  // namespace fathom::cli
