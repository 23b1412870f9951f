#include "cli/time_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "analysis/core/words.h"
#include "cli/block_options.h"
#include "cli/clock_time.h"
#include "model/marks.h"

namespace fathom::cli {
namespace {

// nullopt: the text is no number, with or without a unit.
std::optional<double> seconds_in(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || !std::isfinite(number)) return std::nullopt;
  if (rest == end) return number;
  const Result<std::uint64_t> ns = parse_duration_ns(text);
  return ns ? std::optional(static_cast<double>(*ns) / 1e9) : std::nullopt;
}

}  // namespace

CLI::Option* add_time_option(CLI::App& app, const std::string& names, TimeArgument& argument,
                             const std::string& text) {
  return app
      .add_option_function<std::string>(
          names,
          [&argument, names](const std::string& word) {
            argument = {};
            argument.seconds = seconds_in(word);
            if (!argument.seconds) {
              argument.mark = word;
              return;
            }
            std::string number = fmt::format("{}", *argument.seconds);
            if (const std::string problem = CLI::Range(0.0, kMostSeconds)(number); !problem.empty())
              throw CLI::ValidationError(names, problem);
          },
          text)
      ->type_name("TIME");
}

std::string known_marks(const model::Profile& profile) {
  constexpr std::size_t kManyNames = 300;  // bytes
  std::string known;
  for (const model::Phase& phase : model::phases_of(profile)) {
    const std::string quoted = fmt::format("'{}'", analysis::printable(phase.name));
    if (known.size() < kManyNames && known.find(quoted) == std::string::npos)
      known += (known.empty() ? "" : ", ") + quoted;
  }
  return known;
}

Result<std::optional<double>> seconds_of(const TimeArgument& argument, const model::Profile& profile,
                                         const char* option, double after_s) {
  if (argument.mark.empty()) return argument.seconds;
  for (const model::Phase& phase : model::phases_of(profile))
    if (phase.name == argument.mark && phase.from_s >= after_s) return std::optional(phase.from_s);
  const model::Meta& meta = profile.meta;
  if (meta.start_unix_ns != 0) {
    const std::uint64_t end = meta.start_unix_ns + (std::max(meta.end_ns, meta.start_ns) - meta.start_ns);
    if (const auto time = clock_time_in(argument.mark, meta.start_unix_ns, end))
      return std::optional(*time > meta.start_unix_ns ? static_cast<double>(*time - meta.start_unix_ns) * 1e-9
                                                      : 0.0);
  }
  const std::string known = known_marks(profile);
  const std::string where = after_s > 0 ? fmt::format(" after {:g} s", after_s) : "";
  return fail(
      ErrorKind::kUsage,
      fmt::format("{} '{}': neither a time nor a mark of the recording{}", option,
                  analysis::printable(argument.mark), where),
      known.empty()
          ? fmt::format("a time: {0} 10, {0} 500ms, {0} 02:10; record --marks FILE sets marks", option)
          : fmt::format("one of the marks {}; or a time: {} 10", known, option));
}

}  // namespace fathom::cli
