// A ring between an interrupt and the main loop, of bytes of the serial port, and a table of what was heard.

#include "board/lib.h"

namespace {

template <typename T, unsigned Size> class Ring {
public:
    NOINLINE bool put(const T &item)
    {
        unsigned next = write_ + 1;
        if (next > Size)
            next = 0;
        if (next == read_)
            return false;
        items_[write_] = item;          /* CULPRIT */
        write_ = next;
        return true;
    }

    NOINLINE bool get(T &item)
    {
        if (read_ == write_)
            return false;
        item = items_[read_];
        read_ = read_ == Size ? 0 : read_ + 1;
        return true;
    }

private:
    volatile unsigned read_ = 0, write_ = 0;
    T items_[Size];
};

struct Heard {
    char byte;
    unsigned char order;
    unsigned short length;
};

class Listener {
public:
    virtual void heard(const Heard &heard) = 0;
};

class Counter : public Listener {
public:
    void heard(const Heard &heard) override { ++counts_[static_cast<unsigned>(heard.byte) & 15]; }

private:
    unsigned counts_[16] = {};
};

class Last : public Listener {
public:
    void heard(const Heard &heard) override { order_ = heard.order; }

private:
    unsigned order_ = 0;
};

struct Port {
    Ring<Heard, 64> ring;
    Counter counter;
    unsigned length = 0, order = 0;
} port;

Last last;

}  // namespace

extern "C" void UART_Handler()
{
    char byte = static_cast<char>(UART_DATA);

    port.length = byte == '\n' ? 0 : port.length + 1;
    port.ring.put(Heard{ byte, static_cast<unsigned char>(++port.order), static_cast<unsigned short>(port.length) });
}

namespace {

__attribute__((noipa)) void tell(Listener &listener, const Heard &heard)
{
    listener.heard(heard);              /* FAULTS */
}

NOINLINE unsigned other_work(unsigned rounds)
{
    unsigned sum = rounds;

    for (unsigned i = 0; i < rounds; ++i)
        sum = sum * 33 ^ i;
    return sum;
}

}  // namespace

int main()
{
    Heard heard;
    unsigned work = 0;

    uart_start(110, true);
    for (unsigned i = 0; i < 2000; ++i) {
        if (port.ring.get(heard))
            tell(heard.length % 8 == 7 ? static_cast<Listener &>(last) : port.counter, heard);
        work += other_work(8);
    }
    put_number(work);
    return 0;
}
