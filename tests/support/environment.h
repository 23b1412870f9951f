// What this machine allows, asked by trying and independently of the program under test: a test that cannot
// run here is skipped with the reason, and a test that could run and fails is a failure.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <string>

namespace fathom::support {

// The reason why recording with BPF is impossible here, or nothing.
std::optional<std::string> why_no_bpf();
// The reason why a process may not even sample its own children's user code, or nothing.
std::optional<std::string> why_no_perf_event();
// The reason why the heap of an own child may not be traced, or nothing.
std::optional<std::string> why_no_heap_tracing();
// The path of a program that is installed, or nothing.
std::optional<std::string> find_program(const std::string& name);
// redis-server, also where only redis-tools is installed, which has the program under another name; the link
// that is then needed is made in `folder`.
std::optional<std::string> find_redis_server(const std::string& folder);

// mimalloc's library, version 2, or nothing.
std::optional<std::string> find_mimalloc();

// A folder of its own that goes away with the object.
class TempDir {
 public:
  TempDir();  // below TMPDIR, or /tmp
  explicit TempDir(const std::string& below);
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace fathom::support

#define FATHOM_NEEDS_BPF()                                                                     \
  if (const auto why = ::fathom::support::why_no_bpf()) GTEST_SKIP() << "needs BPF: " << *why; \
  std::puts("[ with BPF  ]") /* scripts/run-tests.sh counts these */
#define FATHOM_NEEDS_PERF_EVENT() \
  if (const auto why = ::fathom::support::why_no_perf_event()) GTEST_SKIP() << "needs perf events: " << *why
#define FATHOM_NEEDS_HEAP_TRACING() \
  if (const auto why = ::fathom::support::why_no_heap_tracing()) GTEST_SKIP() << "needs to trace: " << *why
#define FATHOM_NEEDS_PROGRAM(name) \
  if (!::fathom::support::find_program(name)) GTEST_SKIP() << "needs " << (name) << ", which is not installed"
