// What is asked of a function of a mimalloc or a tcmalloc. mimalloc keeps what was freed for later: a block comes back when its page
// has no other left, within some hundred allocations, and a block that lives never does. tcmalloc gives it out next.
#pragma once

#include <span>

#include "attach/allocators/nameless/candidate.h"
#include "attach/inject/trial/questions.h"

namespace fathom::inject {

// Whether the function gives a block when its arguments are sizes, alignments and counts: kAllocates, or kNone, also where
// it did not return.
Kind look_at_giver(Bench& bench, ElfAddress function);
// What it does with a block as its first argument; kGone: it did not return. The bench has a malloc.
Kind look_at_taker(Bench& bench, ElfAddress function);

// In this order, each of a fresh copy. Functions that allocates() of questions.h says yes of are not asked these.
std::span<const Question> mimalloc_questions();
std::span<const Question> tcmalloc_questions();

// Of one that behaves as malloc. Another allocator beside this one gives blocks as well.
bool gives_of_the_heap(Bench& bench, ElfAddress function);
bool gives_zeros(Bench& bench, ElfAddress function);

}  // namespace fathom::inject
