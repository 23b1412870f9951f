// What a look at all threads means, in sentences: the verdicts, and what each thread waits for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/stacks/look.h"

namespace fathom::present {

// "deadlock", "holder-exited" ...: for scripts. Stable.
std::string_view to_string(stacks::Finding finding);
std::string_view to_string(stacks::State state);
std::string_view to_string(stacks::Evidence evidence);

// "Deadlock: 2 threads wait for each other ...". One paragraph.
std::string verdict_sentence(const stacks::Look& look, const stacks::Verdict& verdict);
// One line for each thread of a circle or a chain: what it waits for and where, and which thread holds it. Empty where the sentence has it all.
std::vector<std::string> verdict_lines(const stacks::Look& look, const stacks::Verdict& verdict);

// "waits for mutex 0x1000, held by worker (thread 12), for 3.2 s"; "runs".
std::string doing_words(const stacks::Look& look, const stacks::ThreadLook& thread);
// "mutex 0x1000", "the end of worker (thread 12)", "fsync of /data/x".
std::string awaited_words(const stacks::Look& look, const stacks::ThreadLook& thread);
// "worker (thread 12)".
std::string thread_words(const stacks::ThreadLook& thread);

// Of a core file: "Ended by signal 11 (SIGSEGV) in main (thread 12), in parse (x.cpp:3)."; "" if no signal ended the process.
std::string core_sentence(const stacks::Look& look);

// What the second look saw move since the first: "2 of 9 threads have run in the 1.0 s between the looks: main (thread 1) ...".
std::string changes_sentence(const stacks::Look& first, const stacks::Look& last);

}  // namespace fathom::present
