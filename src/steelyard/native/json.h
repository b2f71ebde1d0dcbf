// Writes JSON: the only format in which a kernel program speaks.
#pragma once
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace steelyard::json {

inline std::string text(std::string_view s) {
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

// What is undefined is null: JSON has no NaN, and 0 would be a lie.
inline std::string number(double x) {
  if (!std::isfinite(x)) return "null";
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, x).ptr};
}
template <std::integral I>
std::string number(I x) {
  return std::to_string(x);
}
inline std::string boolean(bool b) { return b ? "true" : "false"; }

template <class T>
std::string list(const std::vector<T>& values) {
  std::string out = "[";
  for (const auto& v : values) {
    if (out.size() > 1) out += ',';
    if constexpr (std::is_convertible_v<T, std::string_view>)
      out += text(v);
    else
      out += number(v);
  }
  return out + "]";
}

// An object whose values are JSON already.
class Object {
 public:
  Object& add(std::string_view name, const std::string& json) {
    out_ += (out_.size() > 1 ? "," : "") + text(name) + ":" + json;
    return *this;
  }
  std::string str() const { return out_ + "}"; }

 private:
  std::string out_ = "{";
};

inline std::string object(const std::map<std::string, std::string>& words) {
  Object out;
  for (const auto& [name, value] : words) out.add(name, text(value));
  return out.str();
}

}  // namespace steelyard::json
