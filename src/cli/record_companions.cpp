#include "cli/record_companions.h"

#include <utility>

#include "binary/symbolize/debug_files.h"
#include "binary/symbolize/symbol_cache.h"
#include "cli/notices.h"

namespace fathom::cli {
namespace {

symbolize::Options symbols_of_look(const session::RecordOptions& options) {
  symbolize::Options symbols;
  symbols.symbol_directory = options.symbol_directory;
  symbols.cache_directory = symbolize::default_cache_directory();
  symbols.reader.program = "/proc/self/exe";
  symbols.debuginfod_caches = symbolize::debuginfod_caches();
  return symbols;
}

}  // namespace

Result<> RecordCompanions::start(RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  if (auto started = start_recorder(arguments); !started) return started;
  if (!arguments.marks.empty()) {
    auto marks = MarkFile::open_file(arguments.marks);
    if (!marks) return tl::unexpected<Error>(marks.error());
    options.companions.push_back(&marking_.emplace(std::move(*marks)));
  }
  if (!arguments.spans.empty()) options.companions.push_back(&spans_.emplace(arguments.spans));
  if (arguments.stable_points > 0)
    options.companions.push_back(&stable_.emplace(arguments.stable_points / 100));
  if (arguments.baseline_s > 0) {
    if (auto started = start_work(arguments); !started) return started;
    options.companions.push_back(&*work_);
  }
  if (!arguments.around.empty())
    options.companions.push_back(&load_.emplace(arguments.around, options.redact, arguments.quiet));
  if (options.off_cpu && !arguments.groups.machine)
    options.companions.push_back(&look_.emplace(live_looker(symbols_of_look(options)), options.duration_s));
  recorder_->open();
  options.companions.push_back(&*recorder_);  // last, as it takes rows out
  options.companions_walk = arguments.flight;
  return {};
}

Result<> RecordCompanions::start_recorder(const RecordArguments& arguments) {
  flight::Options flight;
  flight.flight = arguments.flight;
  flight.triggers.each_bytes = arguments.each_bytes;
  flight.may_freeze = arguments.flight_freeze;
  flight.may_brake = arguments.flight_brake;
  if (flight.may_freeze || flight.may_brake) {
    auto started = flight::HoldGuardian::start();
    if (!started) return tl::unexpected<Error>(started.error());
    flight.guardian = &hold_guardian_.emplace(std::move(*started));
  }
  recorder_.emplace(flight);
  return {};
}

Result<> RecordCompanions::start_work(const RecordArguments& arguments) {
  auto watched = WorkWatch::start(arguments.options.pids, arguments.options.metrics_url, arguments.work);
  if (!watched) return tl::unexpected<Error>(watched.error());
  if (!arguments.quiet)
    say("fathom: looks at the target's work for {:g} s before it records\n", arguments.baseline_s);
  work_.emplace(std::move(*watched), arguments.baseline_s);
  return {};
}

std::optional<Error> RecordCompanions::load_problem() const {
  return load_ ? load_->problem() : std::nullopt;
}

void RecordCompanions::say_results() const {
  if (stable_) say("fathom: {}\n", stable_->sentence());
  if (work_) say("fathom: {}\n", work_->sentence());
  if (load_ && !load_->failed() && !load_->sentence().empty()) say("fathom: {}\n", load_->sentence());
}

void RecordCompanions::say_load_failure() const {
  if (load_failed())
    say("fathom: error: {}; the recording ends there\ntry: the command of --load alone, until it succeeds\n",
        load_->sentence());
}

}  // namespace fathom::cli
