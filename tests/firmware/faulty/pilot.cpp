// A pilot for a boat: modes steer, each with a regulator of its own; modes are made when they are chosen.

#include "board/chip.h"
#include "board/new.h"

namespace {

struct Limits {
    int lowest, highest;
};

const Limits harbour = { -10, 10 }, sea = { -35, 35 };

class Regulator {
public:
    explicit Regulator(int gain) : gain_(gain) {}

    Regulator(int gain, const Limits *limits) : gain_(gain), limits_(limits) {}

    NOINLINE int rudder(int error)
    {
        int wanted = error * gain_ / 16 + (error - before_);
        before_ = error;
        if (wanted < limits_->lowest)   /* FAULTS */
            return limits_->lowest;
        return wanted > limits_->highest ? limits_->highest : wanted;   /* FAULTS */
    }

private:
    int gain_;
    int before_ = 0;
    const Limits *limits_;              /* CULPRIT */
};

class Mode {
public:
    Mode(int course, Regulator *regulator) : course_(course), regulator_(regulator) {}
    ~Mode() { delete regulator_; }
    int steer(int heading) { return regulator_->rudder(course_ - heading); }

private:
    int course_;
    Regulator *regulator_;
};

class Track {
public:
    explicit Track(unsigned points) : count_(points), points_(new unsigned[points])
    {
        for (unsigned i = 0; i < count_; ++i)
            points_[i] = 0x9E3779B9u * (i + 1) | 0x90000000u;
    }
    ~Track() { delete[] points_; }

    NOINLINE unsigned length() const
    {
        unsigned sum = 0;
        for (unsigned i = 0; i < count_; ++i)
            sum += points_[i] & 0xFF;
        return sum;
    }

private:
    unsigned count_;
    unsigned *points_;
};

unsigned sailed;

NOINLINE Mode *choose(unsigned number)
{
    switch (number % 4) {
    case 0:  return new Mode(90, new Regulator(8, &harbour));
    case 1:  return new Mode(120, new Regulator(12, &sea));
    case 2:  return new Mode(100, new Regulator(10, &sea));
    default: return new Mode(270, new Regulator(14));           /* CULPRIT */
    }
}

NOINLINE int sail(Mode &mode, int heading)
{
    for (int minute = 0; minute < 20; ++minute)
        heading += mode.steer(heading) / 4;
    return heading;
}

}  // namespace

int main()
{
    int heading = 90;

    for (unsigned number = 0; number < 8; ++number) {
        {
            Track track(12 + number % 2);
            sailed += track.length();
        }
        Mode *mode = choose(number);
        heading = sail(*mode, heading);
        delete mode;
    }
    return heading;
}
