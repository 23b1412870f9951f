#include "present/page/wait_rows.h"

#include <fmt/format.h>

#include "analysis/core/words.h"

namespace fathom::page {

using analysis::Cause;
using model::ObjectKind;

std::uint32_t ObjectNames::of(const model::Wait& wait, Cause cause) {
  if (of_object_.empty()) of_object_.resize(profile_.objects.size());
  std::uint32_t& known = of_object_[wait.object.value];
  if (known != 0) return known - 1;
  const model::WaitObject& object = profile_.objects[wait.object.value];
  const std::string name = analysis::printable(profile_.strings[object.name]);
  Row row;
  switch (object.kind) {
    case ObjectKind::kFutex:
      row.kind = WaitedFor::kLock;
      row.name = fmt::format("{:#x} of pid {}", object.address, object.pid);
      if (!name.empty()) row.name = name + " " + row.name;
      break;
    case ObjectKind::kFile:
    case ObjectKind::kMappedFile:
    case ObjectKind::kPipe:
    case ObjectKind::kSocket:
      row.kind = cause == Cause::kFileLock ? WaitedFor::kLock : WaitedFor::kFile;
      row.name = name;
      break;
    default:
      break;  // memory and poll sets have no name that says more than the cause
  }
  if (row.name.empty()) {
    known = 1;
    return 0;
  }
  known = static_cast<std::uint32_t>(rows.size()) + 1;
  rows.push_back(std::move(row));
  return known - 1;
}

}  // namespace fathom::page
