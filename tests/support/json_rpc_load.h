// Load for an Ethereum node: JSON-RPC over HTTP on loopback, on several connections, each with one request
// under way.
#pragma once

#include <string>
#include <vector>

namespace fathom::support {

// Sends `requests` in turn for `seconds` and gives the answers per second; `waited_ms` gets how long each answer
// took. Throws when the node cannot be reached or hangs up.
double json_rpc_load(int port, const std::vector<std::string>& requests, int connections, double seconds,
                     std::vector<double>* waited_ms = nullptr);
// Sends them until there were `count` answers, and gives the seconds that this took. Throws as well where the
// node answers with an error.
double json_rpc_work(int port, const std::vector<std::string>& requests, int connections, long count);

}  // namespace fathom::support
