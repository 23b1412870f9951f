#include "cli/group_witness.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace fathom::cli {
namespace {

volatile sig_atomic_t g_how_it_ended = 0;

TEST(GroupWitness, EndsWithoutASignal) {
  struct sigaction before {
  }, ours{};
  ours.sa_flags = SA_SIGINFO;
  ours.sa_sigaction = [](int, siginfo_t* info, void*) { g_how_it_ended = info->si_code; };
  ASSERT_EQ(::sigaction(SIGCHLD, &ours, &before), 0);
  { const GroupWitness witness; }
  ::sigaction(SIGCHLD, &before, nullptr);
  EXPECT_EQ(g_how_it_ended, CLD_EXITED) << "a recording of the whole machine would show a kill";
}

}  // namespace
}  // namespace fathom::cli
