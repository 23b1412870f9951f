// Recordings into a dataset. Writing the same recording again changes nothing: the names of the files follow from its windows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/result.h"
#include "model/profile.h"
#include "tools/push/destination.h"

namespace fathom::dataset {

class Writer final : public push::Destination {
 public:
  // The folder and those in it are made when something is written.
  explicit Writer(std::string folder) : folder_(std::move(folder)) {}
  // kUnsupported: a recording whose CPU values are neither samples nor times. kPermission, kSystem: files cannot be written.
  Result<push::Sent> send(const model::Profile& profile, const push::Labels& labels) override;

 private:
  const std::string folder_;
  std::map<std::string, std::set<std::uint64_t>>
      stacks_;  // hashes that files of each folder have, of this writer
};

}  // namespace fathom::dataset
