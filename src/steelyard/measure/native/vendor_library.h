// A library of a vendor, whose functions are called by their names: no header of it is needed.
#pragma once
#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <unordered_map>
#include <vector>

#include "params.h"

namespace steelyard {

class VendorLibrary {
 public:
  // The library that an environment variable names, or the first of the usual names. CaseError `lacking`: there is
  // none.
  [[gnu::cold]] VendorLibrary(const char* variable, const std::vector<std::string>& usual, const std::string& lacking) {
    const char* own = std::getenv(variable);
    for (const std::string& name : own ? std::vector<std::string>{own} : usual)
      if (!library_) library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library_) throw CaseError(join({lacking, " (", dlerror(), ")"}));
  }
  // The types of the arguments must be exactly those of the function. `name` is a literal; one thread calls at a time.
  template <class Answer = int, class... Arguments>
  Answer call(const char* name, Arguments... arguments) const {
    // A search costs up to a microsecond, and a kernel starts every two.
    void*& found = found_[name];
    if (!found) found = dlsym(library_, name);
    if (!found) throw CaseError(join({"a library of this machine lacks the function ", name}));
    return reinterpret_cast<Answer (*)(Arguments...)>(found)(arguments...);
  }

 private:
  void* library_ = nullptr;
  mutable std::unordered_map<const void*, void*> found_;
};

}  // namespace steelyard
