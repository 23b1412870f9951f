// Serves one page to a browser on this machine: a loopback socket with an unguessable address. Uses the HTTP
// server of the metrics endpoint, with its limits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "linux/metrics/address.h"
#include "linux/metrics/request.h"
#include "linux/metrics/server.h"

namespace fathom::page {

struct Shown {
  std::string html;   // the page
  std::string token;  // the first part of the path: a client without it gets nothing
  // Answers /TOKEN/code?... with JSON; gets the query unchanged; empty: no queries.
  std::function<std::string(std::string_view query)> code = {};
  // The page for /TOKEN/?..., as HTML; gets the query unchanged; empty: queries change nothing.
  std::function<std::string(std::string_view query)> page = {};
};

// "fn=a%20b&metric=cpu" -> pairs, decoded. What is malformed stays as it is.
std::vector<std::pair<std::string, std::string>> query_words(std::string_view query);

// 32 hexadecimal digits from the kernel.
Result<std::string> make_token();

// 200 with the page at /TOKEN/ (GET, HEAD), and with JSON at /TOKEN/code where there is such; 301 from /TOKEN; 404 elsewhere, as if nothing were there; 405 of other methods; 421 where
// the request was meant for another host, and 400 where it names none: as a page in a browser would whose name was made to
// point to this machine.
metrics::Answer answer(const metrics::Request& request, const Shown& shown);

class PageServer {
 public:
  using Query = std::function<std::string(std::string_view)>;
  // On 127.0.0.1; `port` 0: any that is free. `code` and `page` as of Shown, called on the server's thread.
  static Result<std::unique_ptr<PageServer>> open(std::string html, std::uint16_t port, Query code = {},
                                                  Query page = {});
  std::string url() const;  // with the token
  std::uint16_t port() const { return server_->address().port; }

 private:
  PageServer(std::unique_ptr<metrics::Server> server, std::string token)
      : server_(std::move(server)), token_(std::move(token)) {}
  std::unique_ptr<metrics::Server> server_;
  std::string token_;
};

}  // namespace fathom::page
