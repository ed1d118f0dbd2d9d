// Lamps of a stairway: each owns its register, and can be given to another floor.

#include "board/chip.h"

namespace {

volatile uint32_t registers[8];

class Lamp {
public:
    Lamp() = default;
    explicit Lamp(unsigned number) : register_(&registers[number]) {}
    Lamp(const Lamp &) = delete;
    Lamp &operator=(const Lamp &) = delete;

    Lamp &operator=(Lamp &&other)
    {
        register_ = other.register_;
        other.register_ = nullptr;
        return *this;
    }

    NOINLINE void set(uint32_t level)
    {
        *register_ = level;
        level_ = level;
        ++changes_;
    }

private:
    volatile uint32_t *register_ = nullptr;
    uint32_t level_ = 0, changes_ = 0;
};

struct Floor {
    Lamp lamps[2];
    uint32_t people = 0;
};

Floor floors[3];

NOINLINE void arrive(Floor &floor, unsigned count)
{
    floor.people += count;
    for (Lamp &lamp : floor.lamps)
        lamp.set(floor.people * 10);
}

NOINLINE void leave(Floor &floor)
{
    floor.people /= 2;
    floor.lamps[0].set(floor.people);
}

NOINLINE void lend(Floor &from, Floor &to)
{
    to.lamps[1] = static_cast<Lamp &&>(from.lamps[1]);  /* CULPRIT */
}

}  // namespace

int main()
{
    for (unsigned i = 0; i < 6; ++i)
        floors[i / 2].lamps[i % 2] = Lamp(i);
    for (unsigned minute = 0; minute < 300; ++minute) {
        if (minute % 3 == 0)
            arrive(floors[minute % 2], minute % 4);
        else
            leave(floors[minute % 3]);
        if (minute == 121)
            lend(floors[0], floors[2]);
    }
    return 0;
}
