#include "support/other_user.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "support/fathom_program.h"

namespace fathom::support {
namespace {

namespace fs = std::filesystem;

void must(int result, const char* what) {
  if (result != 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

OtherUsersFolder::OtherUsersFolder() {
  must(::chmod(path().c_str(), 0755), "chmod");
  if (::geteuid() == 0) must(::chown(path().c_str(), kNobody, kNobody), "chown");
}

std::string OtherUsersFolder::program(const std::string& path) const {
  const std::string copy = folder_ / fs::path(path).filename();
  if (fs::exists(copy)) return copy;
  fs::copy_file(path, copy);
  must(::chmod(copy.c_str(), 0755), "chmod");
  return copy;
}

std::vector<std::string> OtherUsersFolder::fathom_command(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), program(support::fathom_command({}).front()));
  return arguments;
}

}  // namespace fathom::support
