// The questions for a function of a mimalloc or a tcmalloc. mimalloc delays the reuse of freed blocks: a
// block is reused when its page has no other left, within some hundred allocations, and a live block never.
// tcmalloc reuses it next.
#pragma once

#include <span>

#include "attach/allocators/nameless/candidate.h"
#include "attach/inject/trial/questions.h"

namespace fathom::inject {

// Whether the function allocates a block if its arguments are sizes, alignments and counts: kAllocates, or
// kNone, also if it did not return.
Kind look_at_giver(Bench& bench, ElfAddress function);
// What it does with a block as its first argument; kGone: it did not return. The bench has a malloc.
Kind look_at_taker(Bench& bench, ElfAddress function);

// In this order, each on a new copy. Not asked for functions that pass allocates() of questions.h.
std::span<const Question> mimalloc_questions();
std::span<const Question> tcmalloc_questions();

// For a function that behaves like malloc. Another allocator in the program allocates blocks as well.
bool gives_of_the_heap(Bench& bench, ElfAddress function);
bool gives_zeros(Bench& bench, ElfAddress function);

}  // namespace fathom::inject
