// How a browser learns the address of a page without its being on a command line, which every user of the machine can read:
// a file in a folder of mode 0700 that leads there.
#pragma once

#include <string>

#include "base/result.h"

namespace fathom::page {

class RedirectPage {
 public:
  // In $XDG_RUNTIME_DIR, else in $TMPDIR or /tmp. `url` is one of PageServer.
  static Result<RedirectPage> write(const std::string& url);

  RedirectPage(RedirectPage&& other) noexcept : folder_(std::move(other.folder_)) { other.folder_.clear(); }
  RedirectPage& operator=(RedirectPage&&) = delete;
  ~RedirectPage();  // removes the folder

  std::string path() const { return folder_ + "/fathom.html"; }

 private:
  explicit RedirectPage(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
};

}  // namespace fathom::page
