// Any bytes as a Parquet file of a dataset, with samples and with stacks, and what becomes of it.
#include <string>

#include "any_profile.h"
#include "tools/clickhouse/profile_of.h"
#include "tools/dataset/sums.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string bytes(fuzz::text_of(data, size));
  dataset::Sums sums({});
  const auto samples = sums.add(bytes, "x", "h"), stacks = sums.add_stacks(bytes, "x");
  for (const auto* read : {&samples, &stacks})
    if (!*read && read->error().message.find('\n') != std::string::npos) std::abort();
  if (samples)
    fuzz::expect_sound(clickhouse::profile_of({"s", "x", "the dataset", "Parquet"}, sums.extent(),
                                              sums.stack_rows(), sums.sum_rows()));
  return 0;
}
