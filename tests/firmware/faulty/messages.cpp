// Messages of several kinds through one queue; who takes them knows by their kind what they are.

#include "board/lib.h"

namespace {

enum class Kind : unsigned char { Level, Text, Command };

struct Message {
    explicit Message(Kind of) : kind(of) {}
    Kind kind;
};

struct Level : Message {
    Level(unsigned c, int v) : Message(Kind::Level), channel(c), value(v) {}
    unsigned channel;
    int value;
};

struct Text : Message {
    explicit Text(const char *t) : Message(Kind::Text), text(t) {}
    const char *text;
};

struct Command : Message {
    Command(void (*r)(int), int a) : Message(Kind::Command), run(r), argument(a) {}
    void (*run)(int);
    int argument;
};

class Sink {
public:
    NOINLINE void take(const Message &message)
    {
        switch (message.kind) {
        case Kind::Level:   take_level(static_cast<const Level &>(message)); break;
        case Kind::Text:    take_text(static_cast<const Text &>(message)); break;
        case Kind::Command: take_command(static_cast<const Command &>(message)); break;
        }
    }

    unsigned sum = 0;

private:
    void take_level(const Level &level) { sum += static_cast<unsigned>(level.value) << (level.channel & 3); }
    void take_text(const Text &text) { sum += strlen(text.text); }
    NOINLINE void take_command(const Command &command) { command.run(command.argument); }      /* FAULTS */
};

int gain = 1, offset;

void set_gain(int value) { gain = value; }
void set_offset(int value) { offset = value; }

Sink sink;

NOINLINE void forward(Message &message, bool urgent)
{
    if (urgent)
        message.kind = Kind::Command;   /* CULPRIT */
    sink.take(message);
}

NOINLINE void sample(unsigned time)
{
    Level level(time % 4 + 0x90000000u, static_cast<int>(time * 13 % 70) * gain + offset);

    forward(level, level.value > 320);
}

}  // namespace

int main()
{
    for (unsigned time = 0; time < 400; ++time) {
        sample(time);
        if (time % 20 == 7) {
            Command command(time % 40 < 20 ? set_gain : set_offset, static_cast<int>(time / 40) + 1);
            forward(command, true);
        }
        if (time % 9 == 4) {
            Text text("tick");
            forward(text, false);
        }
        put_number(sink.sum);
    }
    return 0;
}
