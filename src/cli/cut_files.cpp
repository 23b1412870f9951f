#include "cli/cut_files.h"

#include <csignal>

#include "base/mapped_files.h"

namespace fathom::cli {
namespace {

void on_bus_error(int, siginfo_t* info, void*) {
  if (info->si_code > 0 && replace_lost_page(info->si_addr)) return;
  // The instruction runs again, or another process sent the signal: either way it ends the process now.
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(SIGBUS, &by_default, nullptr);
  if (info->si_code <= 0) ::raise(SIGBUS);
}

}  // namespace

void survive_cut_files() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace fathom::cli
