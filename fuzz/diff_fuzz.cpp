// Any two texts of folded stacks as the two sides of a comparison, with any options: compared or rejected in
// one line, and every output format is valid. The first bytes choose the options, a zero byte separates the
// sides.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "analysis/diff/diff.h"
#include "analysis/diff/fail_condition.h"
#include "analysis/diff/power.h"
#include "analysis/diff/stable_name.h"
#include "formats/folded/folded.h"
#include "present/exports/diff_folded_writer.h"
#include "present/json/diff_json.h"
#include "present/svg/diff_flame_graph.h"
#include "present/text/text_diff.h"

namespace {

void check(bool holds, int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "line %d does not hold\n", line);
  std::abort();
}

void check_text(const std::string& text) {
  for (const char c : text) check(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  if (size < 3) return 0;
  const std::uint8_t choice = data[0], count = data[1];
  const std::string_view all(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t middle = all.find('\0');
  if (middle == std::string_view::npos) return 0;
  const std::string_view rest = all.substr(middle + 1);
  const std::size_t end = rest.find('\0');
  const std::string condition_text(end == std::string_view::npos ? "total > +5%" : rest.substr(end + 1));

  const Result<analysis::FailCondition> condition = analysis::parse_fail_condition(condition_text);
  if (!condition) check(condition.error().message.find('\n') == std::string::npos);
  const Result<model::Profile> a = formats::read_folded(all.substr(0, middle), "a");
  const Result<model::Profile> b = formats::read_folded(rest.substr(0, end), "b");
  if (!a || !b) return 0;

  analysis::DiffRun base, fresh;
  base.profile = &*a;
  fresh.profile = &*b;
  base.label = fresh.label = std::string(all.substr(0, 8));
  base.work = 1 + count;
  fresh.work = 3;
  analysis::DiffOptions options;
  options.fold_generics = (choice & 1) != 0;
  options.normalization = (choice & 2) != 0   ? analysis::Normalization::kShare
                          : (choice & 4) != 0 ? analysis::Normalization::kWork
                                              : analysis::Normalization::kAbsolute;
  const std::vector<analysis::DiffRun> first(1 + count % 3, base), second(1 + count / 3 % 3, fresh);
  const Result<analysis::DiffReport> report = analysis::make_diff(first, second, options);
  if (!report) {
    check(report.error().message.find('\n') == std::string::npos);
    return 0;
  }
  for (const analysis::DiffRow& row : report->rows) {
    check(analysis::stable_name(row.name).size() <= row.name.size());
    for (const analysis::Change* change : {&row.self, &row.total})
      check(std::isfinite(change->change) && std::isfinite(change->error) && change->p >= 0 &&
            change->p <= 1);
  }
  check(std::isfinite(analysis::power_of(*report, report->whole, 0.01).detected));
  std::vector<present::FailedCondition> failed;
  if (condition) {
    (void)analysis::finds_its_name(*report, *condition);
    failed.push_back({*condition, report->metric, analysis::failures_of(*report, *condition)});
  }
  check(nlohmann::json::accept(present::diff_json({*report}, failed)));
  present::DiffTextOptions style;
  style.style.width = 20 + count;
  style.noise = (choice & 8) != 0;
  check_text(present::diff_text({*report}, style));
  check_text(present::diff_markdown({*report}, style));
  const present::DiffWidth width = (choice & 16) != 0   ? present::DiffWidth::kBase
                                   : (choice & 32) != 0 ? present::DiffWidth::kNew
                                                        : present::DiffWidth::kBoth;
  check(!present::diff_flame_graph_svg(*report, width, {}).empty());
  const std::string folded = present::write_diff_folded(*report);
  check(folded.empty() || formats::read_folded(folded, "again").has_value());
  return 0;
}
