#include "support/anvil.h"

#include <cstdlib>
#include <stdexcept>

#include "support/environment.h"
#include "support/json_rpc_load.h"

namespace fathom::support {
namespace {

// Between accounts that every anvil starts with.
const std::vector<std::string> kRequests{
    R"({"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"from":"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266","to":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","value":"0x1"}]})",
    R"({"jsonrpc":"2.0","id":2,"method":"eth_getBalance","params":["0x70997970C51812dc3A010C7d01b50e0d17dc79C8","latest"]})",
    R"({"jsonrpc":"2.0","id":3,"method":"eth_getBlockByNumber","params":["latest",true]})"};

std::vector<std::string> with_transfers() {
  std::vector<std::string> requests = kRequests;
  requests.push_back(
      R"({"jsonrpc":"2.0","id":4,"method":"eth_sendTransaction","params":[{"from":"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266","to":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","value":"0x1"}]})");
  requests.push_back(
      R"({"jsonrpc":"2.0","id":5,"method":"eth_call","params":[{"from":"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266","to":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","data":"0x"},"latest"]})");
  return requests;
}

std::vector<std::string> command_of(const std::string& program, int port, std::vector<std::string> prefix) {
  for (const std::string& word :
       {program, std::string("--port"), std::to_string(port), std::string("--silent")})
    prefix.push_back(word);
  return prefix;
}

}  // namespace

std::optional<std::string> find_anvil() {
  if (const char* named = std::getenv("ANVIL")) return named;
  return find_program("anvil");
}

Anvil::Anvil(const std::string& program, int port, std::vector<std::string> prefix)
    : port_(port), node_(command_of(program, port, std::move(prefix))) {
  const auto answers = [this] {
    try {
      return json_rpc_load(port_, kRequests, 1, 0.1) > 0;
    } catch (const std::runtime_error&) {
      return false;
    }
  };
  if (!wait_until(answers, std::chrono::milliseconds(15'000))) {
    throw std::runtime_error("anvil did not start: " + node_.kill_and_wait().describe());
  }
}

double Anvil::load(double seconds, std::vector<double>* waited_ms) const {
  return json_rpc_load(port_, kRequests, 16, seconds, waited_ms);
}

double Anvil::work(long answers) const {
  return json_rpc_work(port_, with_transfers(), 1, answers);
}

}  // namespace fathom::support
