//! What a terminal shows: an emulator that is fed output and tells the screen, the shell's marks and the replies that
//! programs ask for. No I/O.
