// Recordings into the tables. Sending the same recording again changes nothing: each window has an id, and those that the server
// has are left out.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/clickhouse/location.h"
#include "tools/clickhouse/rows.h"
#include "tools/push/destination.h"

namespace fathom::clickhouse {

class Sender final : public push::Destination {
 public:
  // `stop`: a descriptor that becomes readable when sending should end; -1: none.
  explicit Sender(Location location, int stop = -1) : location_(std::move(location)), stop_(stop) {}
  Result<push::Sent> send(const model::Profile& profile, const push::Labels& labels) override;

 private:
  Result<> create_tables();
  Result<std::set<std::uint64_t>> known_windows(const Rows& rows) const;
  // What the server has of a store's time, about `whole`.
  Result<std::vector<TimeSpan>> covered_times(const push::Labels& labels, const TimeSpan& whole) const;
  Result<> send_stacks(const Rows& rows, push::Sent& sent);
  Result<> send_windows(const Rows& rows, const std::set<std::uint64_t>& known, push::Sent& sent) const;

  const Location location_;
  const int stop_;
  bool created_ = false;
  std::set<std::pair<std::string, std::uint64_t>>
      sent_stacks_;  // service and hash; cleared when there are very many
};

}  // namespace fathom::clickhouse
