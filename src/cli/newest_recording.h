// What a command reads that is given no file.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::cli {

// That there is none here, and what to do about it.
Error no_recording_here();

// All of them, here and where record puts those that have no name; the one that was written last comes last.
std::vector<std::string> recordings_here();

// The recording that was written last, here or where record puts those that have no name. kNotFound: there is none.
Result<std::string> newest_recording();

// `file`, or the newest recording where it is empty; standard error then has its name.
Result<> choose_input(std::string& file);

// What runs a command that reads `arguments->file`: without one it reads the newest recording.
template <class Arguments, class Command>
std::function<Result<int>()> run_on_input(std::shared_ptr<Arguments> arguments, Command run) {
  return [arguments, run]() -> Result<int> {
    if (auto chosen = choose_input(arguments->file); !chosen) return tl::unexpected(chosen.error());
    return run(*arguments);
  };
}

}  // namespace fathom::cli
