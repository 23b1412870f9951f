// The first answer of a recording while it is being made. The file is readable at any moment, so a second fathom reads what is in
// it so far, at low priority: the recording thread never waits for it, and a failure costs an answer and not the recording.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace fathom::cli {

struct FirstAnswer {
  std::string function, share;  // of CPU time: "LogParser::parse_line", "41 %"; empty if there is none
  std::string sentence;         // as the first screen of the report begins; empty likewise
  bool operator==(const FirstAnswer&) const = default;
};

// As text between the two processes; of a text that is none, and of what is not printable, nothing is taken over.
std::string to_text(const FirstAnswer& answer);
FirstAnswer answer_from(std::string_view text);

// Asks at a first time and then each time the recording is twice as long: all answers together cost about two reports.
class FirstLook {
 public:
  FirstLook(std::string recording, double first_s) : recording_(std::move(recording)), next_s_(first_s) {}
  ~FirstLook();
  FirstLook(const FirstLook&) = delete;
  FirstLook& operator=(const FirstLook&) = delete;

  // Never blocks. The answer so far.
  const FirstAnswer& at(double seconds);

 private:
  void ask();
  void take();
  std::string recording_;
  double next_s_;
  pid_t pid_ = -1;
  Fd from_child_;
  FirstAnswer answer_;
};

// The program of the second fathom: `fathom --first-look FILE`. The exit status.
inline constexpr std::string_view kFirstLookArgument = "--first-look";
int run_first_look(const char* recording);

}  // namespace fathom::cli
