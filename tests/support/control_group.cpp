#include "support/control_group.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/command.h"

namespace fathom::support {
namespace {

namespace fs = std::filesystem;

bool write_file(const std::string& path, const std::string& value) {
  std::ofstream out(path);
  out << value;
  out.flush();
  return out.good();
}

}  // namespace

std::optional<ControlGroup> ControlGroup::make(const std::string& controller, const Setting& setting,
                                               std::string& why) {
  why = "no control group with the controller " + controller + " can be made here";
  const std::string name = "fathom-test-" + std::to_string(getpid());
  // Version 1 has a folder for each controller; version 2 one for all, whose children must be given it first.
  for (const std::string& root : {"/sys/fs/cgroup/" + controller, std::string("/sys/fs/cgroup")}) {
    std::error_code error;
    if (!fs::exists(root + "/cgroup.procs", error)) continue;
    if (fs::exists(root + "/cgroup.subtree_control", error))
      write_file(root + "/cgroup.subtree_control", "+" + controller);
    ControlGroup group(root + "/" + name);
    if (!fs::create_directory(group.path_, error)) {
      group.path_.clear();
      continue;
    }
    if (group.set(setting)) return group;
  }
  return std::nullopt;
}

bool ControlGroup::set(const Setting& setting) const {
  std::error_code error;
  for (std::size_t i = 0; i < setting.files.size(); ++i) {
    const std::string file = path_ + "/" + setting.files[i];
    if (fs::exists(file, error) && write_file(file, setting.values[i])) return true;
  }
  return false;
}

ControlGroup::~ControlGroup() {
  if (path_.empty()) return;
  for (int i = 0; i < 100 && ::rmdir(path_.c_str()) != 0; ++i)
    pause_ms(20);  // its last process is being reaped
}

std::vector<std::string> ControlGroup::inside(const std::vector<std::string>& command) const {
  std::vector<std::string> whole{"sh", "-c", "echo $$ > \"$0\" && exec \"$@\"", path_ + "/cgroup.procs"};
  whole.insert(whole.end(), command.begin(), command.end());
  return whole;
}

std::string ControlGroup::read(const std::string& file) const {
  std::ostringstream text;
  text << std::ifstream(path_ + "/" + file).rdbuf();
  return text.str();
}

}  // namespace fathom::support
