// Tools of a milling machine: each moves along its path; a tool tells the log when it is put away.

#include "board/chip.h"
#include "board/new.h"

extern "C" __attribute__((noreturn, noinline)) void __cxa_pure_virtual()
{
    for (;;)
        __asm volatile("bkpt");
}

namespace {

class Tool;

struct Log {
    unsigned entries, sum;
    void put_away(const Tool &tool);
};

Log log_;

class Tool {
public:
    virtual ~Tool() { log_.put_away(*this); }           /* CULPRIT */
    virtual unsigned path(unsigned step) const = 0;
    virtual unsigned wear() const = 0;
};

NOINLINE void Log::put_away(const Tool &tool)
{
    ++entries;
    if (entries > 5)
        sum += tool.wear();             /* FAULTS */
}

class Drill : public Tool {
public:
    explicit Drill(unsigned depth) : depth_(depth) {}
    unsigned path(unsigned step) const override { return step % depth_; }
    unsigned wear() const override { return depth_ * 2; }

private:
    unsigned depth_;
};

class Mill : public Tool {
public:
    Mill(unsigned width, unsigned length) : width_(width), length_(length) {}
    unsigned path(unsigned step) const override { return step * width_ % length_; }
    unsigned wear() const override { return length_; }

private:
    unsigned width_, length_;
};

NOINLINE Tool *take(unsigned number)
{
    if (number % 3 == 0)
        return new Drill(5 + number);
    return new Mill(3 + number, 40);
}

NOINLINE unsigned work(const Tool &tool, unsigned steps)
{
    unsigned sum = 0;

    for (unsigned step = 0; step < steps; ++step)
        sum += tool.path(step);
    return sum;
}

unsigned worked;

}  // namespace

int main()
{
    for (unsigned number = 0; number < 20; ++number) {
        Tool *tool = take(number);
        worked += work(*tool, 40);
        delete tool;                    /* CULPRIT */
    }
    return 0;
}
