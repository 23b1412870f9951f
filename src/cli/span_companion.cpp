#include "cli/span_companion.h"

#include "cli/notices.h"
#include "cli/span_options.h"

namespace fathom::cli {
namespace {

constexpr std::size_t kMostAsleep = 20'000'000;  // 24 bytes each

}  // namespace

session::Companion::Save SpanCompanion::before_save(const Lent& lent, bool last) {
  for (const formats::AsleepTime& time : formats::asleep_times(lent.profile))
    if (asleep_.size() < kMostAsleep) asleep_.push_back(time);
  if (!last) return Save::kAppend;
  // A file that cannot be read costs its spans, and not the recording.
  for (const std::string& path : paths_) {
    const auto files = read_span_files({path});
    if (!files) {
      say("fathom: {}\n", files.error().message);
      if (!files.error().remedy.empty()) say("try: {}\n", files.error().remedy);
      continue;
    }
    for (const formats::SpanFile& file : *files)
      say_placement(file, formats::add_spans(lent.profile, file, asleep_));
  }
  return Save::kAppend;
}

}  // namespace fathom::cli
