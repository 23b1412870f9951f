// A socket that listens.
#pragma once

#include <sys/types.h>

#include "base/fd.h"
#include "base/result.h"
#include "linux/metrics/address.h"

namespace fathom::metrics {

class Listener {
 public:
  static Result<Listener> open(const Address& address);
  Listener(Listener&& other) noexcept = default;
  Listener& operator=(Listener&&) = delete;
  ~Listener();  // removes the file of a Unix socket, if it is still ours

  int fd() const { return fd_.get(); }
  const Address& address() const { return address_; }

 private:
  Listener(Fd fd, Address address) : fd_(std::move(fd)), address_(std::move(address)) {}
  static Result<Listener> open_unix(const Address& address);

  Fd fd_;
  Address address_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace fathom::metrics
