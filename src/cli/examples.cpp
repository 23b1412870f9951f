#include "cli/examples.h"

#include <algorithm>
#include <array>

namespace fathom::cli {
namespace {

constexpr auto kExamples = std::to_array<Example>({
    {"", "fathom triage -p PID", "record 30 s and name the kind of problem"},
    {"", "fathom record -- ./server", "launch a command and record it"},
    {"", "fathom report", "show the newest recording here"},
    {"record", "fathom record -n redis-server -d 30", "attach to a running process for 30 s"},
    {"record", "fathom record --heap -p PID -d 60", "also its heap"},
    {"record", "fathom record -- ./server --port 80", "launch a command and record it"},
    {"triage", "fathom triage -p PID", "30 s of a running process"},
    {"triage", "fathom triage --heap -n reth", "also its heap"},
    {"triage", "fathom triage -- ./server --port 80", "a command, until it ends"},
    {"tour", "fathom tour", "one command at a time; Enter continues"},
    {"tour", "fathom tour --keep tour", "and keep its recording and picture"},
    {"top", "fathom top -p PID", "functions by CPU time, a table each second"},
    {"top", "fathom top -n redis --metric waits", "functions in which its threads wait"},
    {"report", "fathom report", "the newest recording here, on one screen"},
    {"report", "fathom report x.fathom --waits", "what threads wait for, and who makes them wait"},
    {"report", "fathom report x.fathom --callers malloc", "who calls a function"},
    {"flamegraph", "fathom flamegraph x.fathom -o x.svg", "CPU time"},
    {"flamegraph", "fathom flamegraph x.fathom --metric heap-live", "live heap"},
    {"flamegraph", "perf script | fathom flamegraph -", "a recording of perf"},
    {"view", "fathom view x.fathom", "open a page in the browser"},
    {"view", "fathom view x.fathom --html x.html", "write the page as one file"},
    {"view", "fathom view before.fathom after.fathom", "compare two recordings"},
    {"tui", "fathom tui x.fathom", "h lists the keys: those of perf report"},
    {"diff", "fathom diff before.fathom after.fathom", "what changed, beyond noise"},
    {"diff", "fathom diff x.fathom --base 0:30 --new 30:60", "two parts of one recording"},
    {"diff", "fathom diff a.fathom b.fathom --fail-if 'total > +5%'", "a check for CI: exit status 5"},
    {"leaks", "fathom record --leaks -- ./tests", "record and list leaks in one go"},
    {"leaks", "fathom leaks x.fathom", "leaks of a recording; exit status 5 if there are any"},
    {"timeline", "fathom timeline x.fathom -o x.svg", "live heap over time, by function"},
    {"export", "fathom export x.fathom -o x.pb.gz", "pprof; the ending chooses the format"},
    {"export", "fathom export x.fathom --to folded | grep malloc", "folded stacks"},
    {"merge", "fathom merge all.fathom a.fathom b.fathom", "two recordings as one"},
    {"symbolize", "fathom symbolize x.fathom --symbols ./debug -o named.fathom",
     "add names from debug files"},
    {"list", "fathom list", "what record has written here"},
    {"clean", "fathom clean --older 7d --keep 3 --dry-run", "what would go"},
    {"clean", "fathom clean --max-size 5G", "remove the oldest beyond 5 GB"},
    {"oom", "fathom oom", "the last kill in the log of the running kernel"},
    {"oom", "journalctl -k | fathom oom -", "a log from standard input"},
    {"stacks", "fathom stacks -p PID", "is it stuck, and on what"},
    {"stacks", "fathom stacks core.4711", "the same of a core file"},
    {"watch", "fathom watch -p PID", "one screen, refreshed every second"},
    {"watch", "fathom watch redis-server --listen 127.0.0.1:9105", "serve Prometheus"},
    {"serve", "fathom serve postgres", "record it from now on, also after restarts"},
    {"serve", "fathom serve reth --listen 127.0.0.1:9913", "with endpoints for scrapers"},
    {"push", "fathom push clickhouse://db/prof app.fathom", "send one recording"},
    {"push", "fathom push clickhouse+https://me@db/prof fathom-store", "all windows of a store, over TLS"},
    {"push", "fathom push --parquet profiles app.fathom", "as Parquet files, without a server"},
    {"limit", "fathom limit --memory 512m -- ./server", "run it in 512 MiB"},
    {"limit", "fathom limit --memory 8g --bisect -- ./job", "find the smallest limit that works"},
    {"doctor", "fathom doctor", "what works on this machine, and how to get the rest"},
    {"doctor", "fathom doctor -p PID", "and what works for this process"},
    {"allow", "fathom allow -d 10min", "users may record their own processes for ten minutes"},
    {"detach", "fathom detach -p PID", "remove a tracer that a killed fathom left"},
    {"help", "fathom help words", "what the words in reports mean"},
    {"man", "fathom man record | man -l -", "read a manual page"},
    {"completion", "fathom completion bash > fathom.bash", "then: source fathom.bash"},
});

}  // namespace

std::span<const Example> examples_of(std::string_view command) {
  const auto first = std::ranges::find(kExamples, command, &Example::command);
  const auto last = std::find_if(first, kExamples.end(),
                                 [&](const Example& example) { return example.command != command; });
  return {first, last};
}

}  // namespace fathom::cli
