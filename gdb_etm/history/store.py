"""The executed instructions of one core, numbered from 1, oldest first.

API (the store behind it keeps runs in columns and makes an instruction only when it is looked at):

    history = History(...)
    len(history)                    number of executed instructions
    history.instruction(n)          -> Instruction(number, address, size, isa); n from 1 to len(history)
    history.walk(first, last)       -> iterator over Instruction and Event (protocols.elements), in execution
                                       order; first..last inclusive; events that lie before instruction
                                       `first` (directly) and after `last` (directly) are included
    history.spans(first, last)      -> iterator over Span(number, range) and Event in order, cheap: one per
                                       executed range (clipped to first..last); Range from protocols.elements
    history.elements()              -> iterator over (offset, Range | Event) of everything, as decoded
    history.end_reason              -> capture.BufferEnd of the oldest end
    history.source                  -> capture.TraceSource
"""
