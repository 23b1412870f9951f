// A folder that is safe to write in: only its owner, root and we can put another file or a link in place of
// ours. It is held open, so it stays the same folder whatever happens to its path.
//
// The path is walked one name at a time: opening it and checking afterwards would follow another user's link
// to a folder of ours.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/sudo_user.h"

namespace fathom {

struct FolderRules {
  std::optional<Account> owner = {};  // of folders that are made; trusted like ourselves and root
  bool make = true;                   // folders that are missing, mode 0700 whatever the umask
  bool trust_any_owner = false;       // the user said so
  bool trust_group = true;            // a folder that a group may write in is one that its owner shares
  bool trust_way = true;              // false: nor may another user swap a folder on the way to it
};

class SafeFolder {
 public:
  // Rejected with a message: the folder is a symbolic link; it, or a link on the way to it, belongs to
  // another user; it is world-writable without the sticky bit. "" is the working folder.
  static Result<SafeFolder> open(const std::string& path, const FolderRules& rules = {});

  SafeFolder(SafeFolder&&) noexcept = default;
  SafeFolder& operator=(SafeFolder&&) = delete;
  ~SafeFolder();  // a folder that open() made and that is not kept is removed if it is still empty

  const Fd& fd() const { return fd_; }
  void keep() { made_.clear(); }
  // The same folder, once more; what was made stays a matter of the first.
  Result<SafeFolder> again() const;

 private:
  struct Made {
    Fd parent;
    std::string name;
  };
  SafeFolder() = default;

  Fd fd_;
  std::vector<Made> made_;  // outermost first
};

}  // namespace fathom
