#pragma once

#include <vector>

inline std::vector<int> primes_below(int limit) {
    std::vector<bool> is_composite(limit, false);
    std::vector<int> primes;
    for (int n = 2; n < limit; ++n) {
        if (is_composite[n]) continue;
        primes.push_back(n);
        for (int m = n * n; m < limit; m += n) is_composite[m] = true;
    }
    return primes;
}
