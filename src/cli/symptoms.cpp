#include "cli/symptoms.h"

#include <fmt/format.h>

#include <array>

namespace fathom::cli {
namespace {

constexpr auto kSymptoms = std::to_array<Symptom>({
    {"Time", "not known yet", "fathom triage -p PID", "the kind of problem, and the next command"},
    {"Time", "a CPU is full", "fathom record -p PID, then fathom flamegraph", "functions and lines that run"},
    {"Time", "slow, and no CPU is full", "fathom record -p PID, then fathom report --waits",
     "what threads wait for, and who ends it"},
    {"Time", "slow with more threads", "fathom record -p PID, then fathom report --locks",
     "contended locks, and who holds them"},
    {"Time", "waits for disks or peers", "fathom record --syscalls -p PID, then fathom report --files",
     "files, bytes and latencies"},
    {"Time", "it hangs", "fathom stacks -p PID", "deadlocks, stuck pools, who waits for whom"},
    {"Time", "some requests are slow",
     "fathom record --span NAME=FUNCTION -p PID, then fathom report --spans",
     "where the time of the slow ones goes"},
    {"Time", "slower since a change", "fathom diff BEFORE AFTER", "what changed beyond noise"},
    {"Memory", "what it consists of", "fathom watch -p PID", "each part of RSS, and when the limit is met"},
    {"Memory", "it grows", "fathom record --heap -d 60 -p PID, then fathom report",
     "leak, cache that fills, or level; which code"},
    {"Memory", "a peak", "fathom record --heap -- CMD, then fathom timeline", "what the peak was made of"},
    {"Memory", "more than the program holds", "fathom doctor -p PID",
     "free memory and gaps in allocators (fragmentation)"},
    {"Memory", "allocating is slow", "fathom record --heap -p PID, then fathom report --heap",
     "call sites by calls and bytes per second"},
    {"Memory", "never freed, in tests", "fathom record --leaks -- CMD",
     "leaks; exit status 5 if there are any"},
    {"Memory", "it was killed", "fathom oom", "who was killed, by which limit, and what held the memory"},
    {"Memory", "how little is enough", "fathom limit --memory 8g --bisect -- CMD",
     "the smallest limit that works"},
    {"fathom", "something is missing", "fathom doctor -p PID", "what works here, and a remedy for the rest"},
});

}  // namespace

std::span<const Symptom> symptoms() {
  return kSymptoms;
}

std::string symptoms_text() {
  std::string text = "Where to begin\n";
  std::string_view kind;
  for (const Symptom& symptom : kSymptoms) {
    if (symptom.kind != kind) text += fmt::format("\n{}\n", symptom.kind);
    kind = symptom.kind;
    text += fmt::format("  {:<27}  {}\n{:31}{}\n", symptom.seen, symptom.begin, "", symptom.shows);
  }
  return text;
}

}  // namespace fathom::cli
