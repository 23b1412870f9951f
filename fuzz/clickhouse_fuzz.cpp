// Any bytes as the answers of a ClickHouse server: the rows of stacks, 0xff 0xff, the rows of sums.
#include <algorithm>
#include <string>

#include "any_profile.h"
#include "tools/clickhouse/profile_of.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  static const clickhouse::Origin origin{"s", "http://h:8123/", "the table fathom_stacks", "ClickHouse"};
  const std::string_view bytes = fuzz::text_of(data, size);
  const std::size_t middle = std::min(bytes.find("\xff\xff"), bytes.size());
  const std::string stacks(bytes.substr(0, middle)), sums(bytes.substr(std::min(middle + 2, bytes.size())));
  fuzz::expect_sound(clickhouse::profile_of(origin, {}, stacks, sums));
  return 0;
}
