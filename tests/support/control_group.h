// A control group for a test: version 1 or 2, depending on which has the controller here.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fathom::support {

class ControlGroup {
 public:
  // The first of these files that exists is set: {"memory.max", "memory.limit_in_bytes"} and one value for
  // each.
  struct Setting {
    std::vector<std::string> files, values;
  };
  // nullopt if this machine or this user cannot make one; `why` has the reason.
  static std::optional<ControlGroup> make(const std::string& controller, const Setting& setting,
                                          std::string& why);
  ControlGroup(ControlGroup&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ControlGroup& operator=(ControlGroup&&) = delete;
  ~ControlGroup();  // removes it; its processes have ended by then

  // The command, run inside of the group.
  std::vector<std::string> inside(const std::vector<std::string>& command) const;
  // Sets the first of these files that exists; false: none does, or the kernel refuses.
  bool set(const Setting& setting) const;
  // The content of one of its files; empty if there is none.
  std::string read(const std::string& file) const;

 private:
  explicit ControlGroup(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace fathom::support
