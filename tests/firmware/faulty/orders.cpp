// Orders of a kitchen: an order that cannot be made throws, and the cook goes on with the next.

#include <stdexcept>
#include <string>
#include <vector>

#include "board/chip.h"

namespace {

struct Pan {
    unsigned heat, uses;
};

class Cook {
public:
    explicit Cook(Pan *pan) : pan_(pan) {}

    NOINLINE unsigned make(unsigned dish, unsigned amount)
    {
        Pan *pan = pan_;

        pan_ = nullptr;                     /* CULPRIT */
        unsigned heat = recipe(dish) * amount;
        pan->heat = heat;
        pan_ = pan;
        return heat;
    }

    NOINLINE void clean()
    {
        pan_->uses += 1;                    /* FAULTS */
    }

private:
    static NOINLINE unsigned recipe(unsigned dish)
    {
        static const unsigned heats[] = { 40, 60, 75, 90 };

        if (dish >= COUNT(heats))
            throw std::out_of_range("no such dish");
        return heats[dish];
    }

    Pan *pan_;
};

Pan pans[2];
Cook cooks[2] = { Cook(&pans[0]), Cook(&pans[1]) };
std::vector<std::string> complaints;

NOINLINE void serve(Cook &cook, unsigned dish)
{
    try {
        cook.make(dish, 2 + dish);
    } catch (const std::out_of_range &error) {
        complaints.push_back(error.what());
    }
}

}  // namespace

int main()
{
    for (unsigned order = 0; order < 60; ++order) {
        Cook &cook = cooks[order % 2];

        serve(cook, order == 33 ? 4 : order % 4);
        if (order % 3 == 0)
            cook.clean();
    }
    return 0;
}
