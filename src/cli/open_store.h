// Stores of fathom serve as inputs of the commands that read recordings: a folder, or FOLDER?target=NAME&from=TIME&until=TIME, which
// names a stretch on its own where a command takes several inputs.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/time_option.h"
#include "model/profile.h"

namespace fathom::cli {

struct StoreChoice {
  std::string target;       // empty: the only one
  std::string from, until;  // as clock_time() takes them; empty: open
  enum class Upgrade {
    kAny,
    kBefore,
    kAfter
  } upgrade = Upgrade::kAny;  // of the last change of the program's build id
};

// The words of the times that a stretch of a store was cut to: the same ones select all of it, and "-5m" would mean another time in it.
inline constexpr const char *kCutFromFact = "cut_from", *kCutUntilFact = "cut_until";

// nullopt: the input is no store. kUsage for a word that is none of the above.
Result<std::optional<StoreChoice>> store_choice(const std::string& input, std::string& folder);

// The windows of these times as one recording, cut to them.
Result<model::Profile> open_store(const std::string& folder, StoreChoice choice, bool long_names);

// The input that means the time before, or after, the last change of the program.
std::string input_for_upgrade(const std::string& input, bool after);

}  // namespace fathom::cli
