// For tests: a child process for one test, with the shared board.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "attach/inject/stop/remote_memory.h"
#include "attach/inject/tracer/testdata/board.h"
#include "attach/inject/tracer/tracer.h"
#include "base/fd.h"
#include "binary/elf/module_file.h"
#include "linux/process/maps.h"
#include "linux/process/status.h"

namespace fathom::inject::testing {

inline std::uint64_t load(const std::uint64_t& word) {
  return __atomic_load_n(&word, __ATOMIC_SEQ_CST);
}

inline bool wait_until(const std::function<bool()>& holds,
                       std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// A function of the target and its code, as in the file.
struct Function {
  ProcessAddress address;
  std::vector<std::byte> code;
  ProcessAddress module_start, module_end;
};

class TestTarget {
 public:
  TestTarget(const std::string& program, std::vector<std::string> arguments) : program_(program) {
    const int memory = ::memfd_create("board", 0);
    if (::ftruncate(memory, sizeof(struct board)) != 0) std::abort();
    board_ = static_cast<struct board*>(
        ::mmap(nullptr, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0));
    arguments.insert(arguments.begin(), program);
    std::vector<char*> words;
    for (auto& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (memory != BOARD_FD) ::dup2(memory, BOARD_FD);
      ::execv(program.c_str(), words.data());
      ::_exit(127);
    }
    ::close(memory);
    ready_ = wait_until([&] { return load(board_->ready) == 1 || !alive(); }) && alive();
  }
  TestTarget(const TestTarget&) = delete;
  TestTarget& operator=(const TestTarget&) = delete;
  ~TestTarget() {
    if (!ended_) ::kill(pid_, SIGKILL), ::waitpid(pid_, nullptr, 0);
    ::munmap(board_, sizeof(struct board));
  }

  int pid() const { return pid_; }
  bool ready() const { return ready_; }
  const struct board& board() const { return *board_; }
  void order(std::uint64_t(::board::*word)) { __atomic_store_n(&(board_->*word), 1, __ATOMIC_SEQ_CST); }
  bool alive() const {
    const auto stat = process::read_stat(pid_);
    return stat && stat->state != 'Z' && stat->state != 'X';
  }
  // Its exit status after a request to exit: 0, or the number of an error in it.
  int end() {
    __atomic_store_n(&board_->stop, 1, __ATOMIC_SEQ_CST);
    int status = 0;
    ended_ = wait_until([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
    return ended_ ? status : -1;
  }

  // By name, in the mapped file whose path ends in `module`; the program itself if empty.
  Function function(std::string_view name, std::string_view module = {}) const {
    const auto maps = process::read_maps(pid_);
    const std::string path = module.empty() ? std::filesystem::canonical(program_).string() : std::string();
    Function found;
    for (const auto& entry : *maps) {
      const bool ours = module.empty() ? entry.path == path : entry.path.find(module) != std::string::npos;
      if (!ours) continue;
      if (found.module_start.value == 0) found.module_start = entry.start;
      found.module_end = entry.end;
      file_ = entry.path;
    }
    const auto file = elf::ModuleFile::open(file_).value();
    const auto* text = file.elf().segment(1 /* PT_LOAD */);
    const std::uint64_t bias = found.module_start.value - text->address.value / 4096 * 4096;
    for (const auto table : {elf::SymbolTable::kSymtab, elf::SymbolTable::kDynsym})
      for (const auto& symbol : file.elf().symbols(table)) {
        if (symbol.name != name || symbol.section == 0 || symbol.size == 0) continue;
        found.address = {symbol.address.value + bias};
        const auto code = file.elf().bytes_at(symbol.address, symbol.size);
        if (code) found.code.assign(code->begin(), code->end());
        return found;
      }
    return found;
  }

  // Must be the same before and after: mappings, text and relocated data, descriptors.
  std::string text_bytes() const {
    std::string all;
    const auto memory = RemoteMemory::open(pid_).value();
    const auto maps = process::read_maps(pid_);
    for (const auto& entry : *maps)
      if (entry.is_file() && !entry.writable && entry.readable) {
        std::string bytes(entry.size(), '\0');
        const auto read = memory.read_some(entry.start, std::as_writable_bytes(std::span(bytes)));
        bytes.resize(read);
        all += bytes;
      }
    return all;
  }
  std::vector<std::string> mappings() const {
    std::vector<std::string> all;
    const auto maps = process::read_maps(pid_);
    for (const auto& entry : *maps)
      if (entry.executable || entry.is_file())  // the mappings of the program's own allocator come and go
        all.push_back(
            fmt::format("{:x}-{:x} {} {}", entry.start.value, entry.end.value, entry.executable, entry.path));
    return all;
  }
  std::size_t descriptors() const {
    const std::filesystem::directory_iterator folder(fmt::format("/proc/{}/fd", pid_));
    return static_cast<std::size_t>(std::distance(folder, std::filesystem::directory_iterator()));
  }

 private:
  std::string program_;
  mutable std::string file_;
  int pid_ = -1;
  struct board* board_ = nullptr;
  bool ready_ = false, ended_ = false;
};

}  // namespace fathom::inject::testing
