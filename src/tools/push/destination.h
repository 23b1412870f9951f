// Where `fathom push` and `fathom serve --push` send recordings: one class for each kind of server.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::push {

// What a server files a recording under.
struct Labels {
  std::string service;  // never empty
  std::string host;
  std::string version;  // build id of the program, or what the user named
  // It is of a store, whose windows follow each other and become longer ones as they age: what a destination has of this service, host
  // and time is this, whatever the window was that brought it.
  bool of_store = false;
};

struct Sent {
  std::uint64_t parts = 0;        // windows or profiles that arrived
  std::uint64_t known_parts = 0;  // the server had them already
  std::uint64_t rows = 0, bytes = 0;
  Sent& operator+=(const Sent& more) {
    parts += more.parts;
    known_parts += more.known_parts;
    rows += more.rows;
    bytes += more.bytes;
    return *this;
  }
};

class Destination {
 public:
  virtual ~Destination() = default;
  // Returns when the server has confirmed all of it. Blocks for some minutes at most. After kSystem the same call may succeed
  // later; other errors repeat.
  virtual Result<Sent> send(const model::Profile& profile, const Labels& labels) = 0;
};

// Service, host and version as the recording knows them. `service`, `host`, `version`: where the user named them; else "".
Labels labels_of(const model::Profile& profile, const Labels& named);

}  // namespace fathom::push
