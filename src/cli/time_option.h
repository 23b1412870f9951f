// --from TIME and --until TIME: seconds after the start, a number with a unit, the name of a mark of the recording (record --marks,
// triggers of the flight recorder), or a time of day (clock_time.h). What a name means is known when the recording has been read.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::cli {

inline constexpr double kMostSeconds = 1e9;  // 31 years

struct TimeArgument {
  std::optional<double> seconds;
  std::string mark;  // empty: none; `seconds` is unset where there is one
  bool given() const { return seconds || !mark.empty(); }
};

// `argument` outlives `app`.
CLI::Option* add_time_option(CLI::App& app, const std::string& names, TimeArgument& argument,
                             const std::string& text);

// The first mark of that name after `after_s`. kUsage, with the marks there are, where there is none.
Result<std::optional<double>> seconds_of(const TimeArgument& argument, const model::Profile& profile,
                                         const char* option, double after_s = 0);

// "'warm-up', 'load'": each name once, in the order of time, as far as they fit on a few lines; empty: there are no marks.
std::string known_marks(const model::Profile& profile);

}  // namespace fathom::cli
