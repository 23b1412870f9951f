#include "cli/commands.h"

#include "cli/option_table.h"
#include "cli/tour_program.h"

namespace fathom::cli {
namespace {

constexpr Command kCommands[] = {
// What is built without its folder (src/tools/doctor ...) is left out; see CMakeLists.txt.
#ifdef FATHOM_HAS_RECORD
    {kLiveGroup, "record", "record a command or a running process", add_record},
    {kLiveGroup, "triage", "record 30 s and name the kind of problem: start here", add_triage},
    {kMoreGroup, "tour", "find three faults of a small program, in two minutes", add_tour},
#endif
#ifdef FATHOM_HAS_TOP
    {kLiveGroup, "top", "show what running processes do now, a table each second", add_top},
#endif
#ifdef FATHOM_HAS_STACKS
    {kLiveGroup, "stacks", "show what every thread does now: deadlocks, stuck pools, who waits for whom",
     add_stacks},
#endif
    {kReadGroup, "report", "print what a recording shows, as text or JSON", add_report},
#ifdef FATHOM_HAS_FLAMEGRAPH
    {kReadGroup, "flamegraph", "draw a recording as one interactive SVG", add_flamegraph},
#endif
#ifdef FATHOM_HAS_VIEW
    {kReadGroup, "view", "show a recording as a page in the browser, or write the page as one file",
     add_view},
#endif
#ifdef FATHOM_HAS_TUI
    {kReadGroup, "tui", "browse a recording in the terminal, with the keys of perf report", add_tui},
#endif
    {kReadGroup, "diff", "compare two recordings, and tell changes from noise", add_diff},
    {kReadGroup, "leaks", "list memory that was never freed, by stack; exit status 5 if there is any",
     add_leaks},
    {kReadGroup, "timeline", "draw the heap over time as one SVG", add_timeline},
    {kReadGroup, "export", "write a recording in another tool's format", add_export},
    {kMoreGroup, "merge", "combine recordings and files of other tools into one recording", add_merge},
    {kMoreGroup, "symbolize", "add names to a recording of a stripped program", add_symbolize},
#ifdef FATHOM_HAS_LIST
    {kMoreGroup, "list", "list the recordings in a folder: program, time, build, size", add_list},
    {kMoreGroup, "clean", "remove old recordings, by age and by size", add_clean},
#endif
#ifdef FATHOM_HAS_OOM
    {kMoreGroup, "oom", "explain which process the kernel killed for lack of memory, and why", add_oom},
#endif
#ifdef FATHOM_HAS_WATCH
    {kLiveGroup, "watch",
     "show what the memory of running processes consists of, and when it reaches the limit", add_watch},
#endif
#ifdef FATHOM_HAS_SERVE
    {kLiveGroup, "serve", "record without end into a store, and serve profiles to scrapers", add_serve},
#endif
#ifdef FATHOM_HAS_PUSH
    {kMoreGroup, "push", "send recordings to a server that keeps those of many hosts", add_push},
#endif
#ifdef FATHOM_HAS_LIMIT
    {kLiveGroup, "limit", "run a command under a memory limit, and explain how it ended", add_limit},
#endif
#ifdef FATHOM_HAS_DOCTOR
    {kLiveGroup, "doctor", "check what works on this machine, and print a remedy for what does not",
     add_doctor},
#endif
#ifdef FATHOM_HAS_ALLOW
    {kMoreGroup, "allow", "let other users sample their own processes, for a while", add_allow},
#endif
#ifdef FATHOM_HAS_DETACH
    {kMoreGroup, "detach", "restore a process whose profiler was killed while tracing its heap", add_detach},
#endif
};

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

}  // namespace fathom::cli
