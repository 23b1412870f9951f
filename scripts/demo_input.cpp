// What the demo compiles: little code that makes the compiler work for some seconds.
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

// "a=1, b=two" -> {"a": 1, "b": "two"}
nlohmann::json parse_pairs(const std::string& text) {
  static const std::regex pair(R"(\s*(\w+)\s*=\s*(?:(\d+)|(\w+))\s*,?)");
  nlohmann::json result;
  for (auto match = std::sregex_iterator(text.begin(), text.end(), pair); match != std::sregex_iterator();
       ++match) {
    if ((*match)[2].matched) {
      result[(*match)[1]] = std::stoi((*match)[2]);
    } else {
      result[(*match)[1]] = (*match)[3].str();
    }
  }
  return result;
}

int main() {
  std::map<std::string, int> lengths;
  for (std::string line; std::getline(std::cin, line);) {
    const auto pairs = parse_pairs(line);
    std::cout << pairs.dump(2) << '\n';
    lengths[line] = static_cast<int>(pairs.size());
  }
  return lengths.empty() ? 1 : 0;
}
