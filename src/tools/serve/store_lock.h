// One service at a time for the folder of a target: a second one would take the windows of the first for parts of its own longer ones,
// and remove them.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "base/safe_folder.h"

namespace fathom::serve {

class StoreLock {
 public:
  // Makes the folder if it is missing; it is removed again if it is still empty at the end. kPermission: another service holds it, in
  // this process or another one. The kernel releases the lock of a killed process.
  static Result<StoreLock> take(const std::string& folder);

 private:
  StoreLock(SafeFolder folder, Fd lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}

  SafeFolder folder_;
  Fd lock_;
};

}  // namespace fathom::serve
