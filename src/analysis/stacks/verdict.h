// What a look means, most important first: a deadlock, a holder that has exited, a lock whose holder waits itself, a pool whose
// jobs wait for one another, work, idleness, and what is not known. Facts and rows of the look; present/sentences has the words.
//
// A claim needs proof: who holds a lock is known or the chain ends there. That a thread will never be woken is claimed only of
// cycles of locks and of locks whose holder has exited.
#pragma once

#include <vector>

#include "analysis/stacks/look.h"
#include "model/profile.h"

namespace fathom::stacks {

// Never empty where there are threads. Every thread is in one of them at least, or counted as behind.
std::vector<Verdict> find_verdicts(const model::Profile& profile, const Look& look);

}  // namespace fathom::stacks
