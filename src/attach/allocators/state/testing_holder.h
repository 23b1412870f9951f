// For tests only: the program that holds memory in known ways (testdata/holder.c), as a child process.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace fathom::allocators::testing {

class Holder {
 public:
  // `environment`: "NAME=VALUE"; nothing else is set.
  explicit Holder(std::vector<std::string> environment = {}) {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) std::abort();
    std::vector<char*> names;
    for (std::string& each : environment) names.push_back(each.data());
    names.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      const char* arguments[] = {HOLDER, nullptr};
      ::execve(HOLDER, const_cast<char**>(arguments), names.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(to_);
    ::close(from_);
  }

  // Its answer, once it waits for the next command; "" if it has exited.
  std::string tell(char command) {
    if (::write(to_, &command, 1) != 1) return "";
    std::string line;
    for (char letter; ::read(from_, &letter, 1) == 1 && letter != '\n';) line += letter;
    return line;
  }
  std::vector<std::uint64_t> statistics() {
    std::istringstream words(tell('s'));
    std::vector<std::uint64_t> values;
    for (std::uint64_t value; words >> value;) values.push_back(value);
    return values;
  }
  int pid() const { return pid_; }

 private:
  int pid_ = -1, to_ = -1, from_ = -1;
};

}  // namespace fathom::allocators::testing
