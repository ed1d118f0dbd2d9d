"""The program that ran: its bytes, its instructions and its basic blocks."""
