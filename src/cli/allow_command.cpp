// fathom allow: lowers for a while the kernel settings that keep ordinary users from recording their own processes.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/end_signals.h"
#include "cli/seconds_word.h"
#include "tools/allow/lowered_settings.h"

namespace fathom::cli {
namespace {

struct AllowArguments {
  double seconds = 0;  // 0: until a signal
  bool kernel = false;
};

void wait_for_the_end(const EndSignals& signals, double seconds) {
  if (seconds == 0) return signals.wait();
  const std::uint64_t end_ns = monotonic_ns() + static_cast<std::uint64_t>(seconds * 1e9);
  while (monotonic_ns() < end_ns)
    if (signals.wait(std::chrono::milliseconds(200))) return;
}

Result<int> run_allow(const AllowArguments& arguments) {
  if (::geteuid() != 0)
    return fail(ErrorKind::kPermission, "only root may change settings of the kernel", "sudo fathom allow");
  const EndSignals signals;
  auto lowered = allow::LoweredSettings::lower(allow::kSettings, arguments.kernel, allow::kJournal);
  if (!lowered) return tl::unexpected<Error>(lowered.error());
  if (lowered->changes().empty()) {
    fmt::print("Every user may do that already: no setting has to be lowered.\n");
    return kDone;
  }
  for (const allow::Change& change : lowered->changes())
    fmt::print("{}: {} instead of {}\n", allow::setting_name(change), change.lowered, change.before);
  fmt::print(
      "Every user of this machine may now sample their own processes{}. Run nothing meanwhile that you do not trust.\nfathom puts this back {}, and also if it is killed.\n",
      arguments.kernel ? ", with their kernel side, and sees the kernel's addresses, which helps attackers"
                       : "; the kernel's code for this has had security faults",
      arguments.seconds > 0 ? fmt::format("after {:g} s, or at Ctrl-C", arguments.seconds) : "at Ctrl-C");
  std::fflush(stdout);
  wait_for_the_end(signals, arguments.seconds);
  const auto changes = lowered->changes();
  const auto of_others = lowered->give_back();
  if (!of_others) return tl::unexpected<Error>(of_others.error());
  if (of_others->empty()) fmt::print("Everything is as it was before.\n");
  for (const allow::Change& change : *of_others)
    fmt::print("Another program changed {} meanwhile: it stays as it is.\n", allow::setting_name(change));
  return kDone;
}

}  // namespace

Run add_allow(CLI::App& app) {
  auto arguments = std::make_shared<AllowArguments>();
  app.add_option("-d,--duration", arguments->seconds, "end after this time")
      ->transform(seconds_word())
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS");
  app.add_flag("--kernel", arguments->kernel, "also the kernel side of samples, with function names");
  app.footer(
      "Lowers kernel.perf_event_paranoid to 2 (with --kernel to 1, and kernel.kptr_restrict to 0), if it is higher, and puts it back at the end. Needs root. Other users then record their own processes without it. Where fathom and the process that guards the settings were both killed, the next fathom allow or fathom doctor as root puts them back.");
  return [arguments] { return run_allow(*arguments); };
}

}  // namespace fathom::cli
