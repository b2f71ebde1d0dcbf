// Reads the words of a case.
#include "params.h"

#include <charconv>
#include <system_error>

namespace steelyard {

[[gnu::cold]] Params::Params(std::string_view line) {
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos) {
    std::size_t end = line.find_first_of(" \t\r", at);
    if (end == std::string_view::npos) end = line.size();
    std::string_view word = line.substr(at, end - at);
    std::size_t sign = word.find('=');
    if (sign == std::string_view::npos || sign == 0)
      throw CaseError(join({"the word '", word, "' of the case is not of the form name=value"}));
    given_[std::string(word.substr(0, sign))] = std::string(word.substr(sign + 1));
    at = end;
  }
}

std::string Params::word(std::string_view name, std::string_view otherwise) {
  std::string key(name);
  auto found = given_.find(key);
  return read_[key] = found == given_.end() ? std::string(otherwise) : found->second;
}

std::string Params::choice(std::string_view name, std::string_view otherwise,
                           std::initializer_list<std::string_view> allowed) {
  std::string value = word(name, otherwise), list;
  for (std::string_view a : allowed) {
    if (a == value) return value;
    list.append(list.empty() ? "" : ", ").append(a);
  }
  throw CaseError(join({"parameter ", name, "='", value, "' must be one of: ", list}));
}

std::size_t Params::count(std::string_view name, std::size_t otherwise) {
  return number_of(std::string(name), otherwise, "a whole number");
}
double Params::number(std::string_view name, double otherwise) {
  return number_of(std::string(name), otherwise, "a number");
}

std::string Params::own_word(std::string_view name, std::string_view otherwise) {
  own_.emplace(name);
  std::string value = word(name, otherwise);
  read_.erase(std::string(name));
  return value;
}
std::size_t Params::own_count(std::string_view name, std::size_t otherwise) {
  own_.emplace(name);
  std::size_t value = count(name, otherwise);
  read_.erase(std::string(name));
  return value;
}
double Params::own_number(std::string_view name, double otherwise) {
  own_.emplace(name);
  double value = number(name, otherwise);
  read_.erase(std::string(name));
  return value;
}
void Params::pass_over(std::initializer_list<const char*> names) {
  for (const char* name : names) own_.emplace(name);
}

std::vector<std::string> Params::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : given_)
    if (!read_.count(name) && !own_.count(name)) names.push_back(name);
  return names;
}

template <class T>
T Params::number_of(const std::string& name, T otherwise, const char* expected) {
  auto found = given_.find(name);
  if (found == given_.end()) {
    char text[40];
    read_[name] = std::string(text, std::to_chars(text, text + sizeof text, otherwise).ptr);
    return otherwise;
  }
  const std::string& text = read_[name] = found->second;
  T value{};
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size())
    throw CaseError(join({"parameter ", name, "='", text, "' must be ", expected}));
  return value;
}

std::vector<int> numbers(const std::string& list) {
  std::vector<int> out;
  for (std::size_t at = 0; at < list.size();) {
    std::size_t end = std::min(list.find(',', at), list.size());
    int value = -1;
    std::from_chars(list.data() + at, list.data() + end, value);
    out.push_back(value);
    at = end + 1;
  }
  return out;
}

}  // namespace steelyard
