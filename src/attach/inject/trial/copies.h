// Private copies of one program, a fresh one for each question, as a wrong guess leaves a damaged heap behind.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attach/inject/trial/private_copy.h"
#include "base/address.h"
#include "binary/elf/elf_file.h"

namespace fathom::inject {

// Only to be used within in_tracing_thread(), all of it.
class Copies {
 public:
  // As PrivateCopy::start() has it; nothing is started before the first question.
  Copies(int fd, const elf::ElfFile& file, std::vector<ElfAddress> stops, int like)
      : fd_(fd), file_(file), stops_(std::move(stops)), like_(like) {}

  // What `question` says of a copy. nullopt: there was none, or it was not given the time to answer; problem() says why.
  template <class Question>
  auto ask(const Question& question) -> std::optional<decltype(question(std::declval<PrivateCopy&>()))> {
    if (!first_) {
      auto started = PrivateCopy::start(fd_, file_, stops_, like_);
      if (!started) {
        problem_ = started.error().message;
        return std::nullopt;
      }
      first_.emplace(std::move(*started));
    }
    auto copy = first_->fork();
    if (!copy) {
      problem_ = copy.error().message;
      return std::nullopt;
    }
    ++count_;
    auto answer = question(*copy);
    // A call that was not given the time to come back tells nothing.
    if (first_->was_late()) {
      problem_ = "this machine is too busy to try its functions";
      return std::nullopt;
    }
    return answer;
  }
  const std::string& problem() const { return problem_; }
  std::size_t count() const { return count_; }  // processes that were started

 private:
  int fd_;
  const elf::ElfFile& file_;
  std::vector<ElfAddress> stops_;
  int like_;
  std::optional<PrivateCopy> first_;
  std::string problem_;
  std::size_t count_ = 0;
};

}  // namespace fathom::inject
