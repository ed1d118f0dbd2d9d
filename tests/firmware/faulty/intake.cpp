// Parcels come in; one is heavier than what any belt takes, and nobody expects it.

#include <stdexcept>
#include <vector>

#include "board/chip.h"

namespace {

struct Parcel {
    unsigned number, weight;
};

class Belt {
public:
    explicit Belt(unsigned most) : most_(most) {}

    NOINLINE void take(const Parcel &parcel)
    {
        if (parcel.weight > most_)
            throw std::length_error("heavy");   /* CULPRIT */
        taken_.push_back(parcel);
    }

    NOINLINE unsigned weight() const
    {
        unsigned sum = 0;
        for (const Parcel &parcel : taken_)
            sum += parcel.weight;
        return sum;
    }

private:
    unsigned most_;
    std::vector<Parcel> taken_;
};

Belt light(20), heavy(60);
unsigned refused;

NOINLINE void sort(const Parcel &parcel)
{
    try {
        light.take(parcel);
    } catch (const std::length_error &) {
        ++refused;
        heavy.take(parcel);
    }
}

}  // namespace

int main()
{
    unsigned seed = 9;
    for (unsigned number = 0; light.weight() + heavy.weight() < 4000; ++number) {
        seed = seed * 1103515245 + 12345;
        sort({number, (seed >> 16) % 62});
    }
    return 0;
}
