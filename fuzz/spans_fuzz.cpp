// Any bytes as a file of spans: rejected in one line, or read and put into a recording that stays valid.
#include <cstdint>
#include <string_view>

#include "any_profile.h"
#include "formats/spans/add_spans.h"
#include "model/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string_view bytes = fuzz::text_of(data, size);
  const auto file = formats::read_spans(bytes, "marker-1-2.txt");
  if (!file) return 0;
  model::Profile profile;
  profile.meta.start_ns = 1000;
  profile.meta.end_ns = 2'000'000;
  profile.meta.start_unix_ns = 1'700'000'000'000'000'000;
  profile.processes.emplace_back().pid = 1;
  for (const int tid : {2, 3}) profile.threads.emplace_back().tid = tid;
  model::Wait& wait = profile.waits.emplace_back();
  wait.start_ns = 1500;
  wait.waited_ns = 500'000;
  (void)formats::add_spans(profile, *file, formats::asleep_times(profile));
  if (!model::check(profile)) __builtin_trap();
  return 0;
}
