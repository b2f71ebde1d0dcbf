// When a case has been sampled enough. The reference, with the reasons, is statistics/samples/stopping.py; a test holds
// both to it.
#pragma once
#include <limits>
#include <vector>

namespace steelyard {

// Half of the 95 % interval of the median over the median; infinite where too little is known to state one. Where
// neighbours alone make it wider than `asked`, it is reported without the costlier estimate.
double relative_half_width(const std::vector<double>& samples, double asked = std::numeric_limits<double>::infinity());

}  // namespace steelyard
