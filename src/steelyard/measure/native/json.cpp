// Text, numbers and objects as JSON.
#include "json.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace steelyard::json {

std::string text(std::string_view s) {
  std::string out = "\"";
  for (unsigned char c : s) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + "\"";
}

std::string number(double x) {
  if (!std::isfinite(x)) return "null";
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, x).ptr};
}

std::string whole(long long x) { return std::to_string(x); }
std::string whole(unsigned long long x) { return std::to_string(x); }

[[gnu::cold]] Object& Object::add(std::string_view name, const std::string& json) {
  out_ += (out_.size() > 1 ? "," : "") + text(name) + ":" + json;
  return *this;
}
[[gnu::cold]] Object& Object::add(std::string_view name, double x) { return add(name, number(x)); }
[[gnu::cold]] Object& Object::add(std::string_view name, long long x) { return add(name, whole(x)); }
[[gnu::cold]] Object& Object::add(std::string_view name, unsigned long long x) { return add(name, whole(x)); }
[[gnu::cold]] Object& Object::add(const Object& other) {
  if (out_.size() > 1 && other.out_.size() > 1) out_ += ",";
  out_ += other.out_.substr(1);
  return *this;
}

std::string object(const std::map<std::string, std::string>& words) {
  Object out;
  for (const auto& [name, value] : words) out.add(name, text(value));
  return out.str();
}

}  // namespace steelyard::json
