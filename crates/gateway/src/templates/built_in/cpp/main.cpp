#include <iostream>

#include "primes.hpp"

int main() {
    for (int prime : primes_below(50)) std::cout << prime << ' ';
    std::cout << '\n';
}
