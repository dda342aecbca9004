//! Colours and attributes, written to a terminal when they change.

use std::fmt::Write;

use alacritty_terminal::term::cell::{Cell, Flags, Hyperlink};
use alacritty_terminal::vte::ansi::{Color, NamedColor};

/// The flags that are attributes, with their SGR codes.
const ATTRIBUTES: [(Flags, &str); 11] = [
    (Flags::BOLD, ";1"),
    (Flags::DIM, ";2"),
    (Flags::ITALIC, ";3"),
    (Flags::UNDERLINE, ";4"),
    (Flags::DOUBLE_UNDERLINE, ";4:2"),
    (Flags::UNDERCURL, ";4:3"),
    (Flags::DOTTED_UNDERLINE, ";4:4"),
    (Flags::DASHED_UNDERLINE, ";4:5"),
    (Flags::INVERSE, ";7"),
    (Flags::HIDDEN, ";8"),
    (Flags::STRIKEOUT, ";9"),
];

/// The appearance of a cell, apart from its character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Style {
    fg: Color,
    bg: Color,
    flags: Flags,
    underline: Option<Color>,
    link: Option<Hyperlink>,
}

impl Default for Style {
    fn default() -> Self {
        Self::of(&Cell::default())
    }
}

impl Style {
    pub(crate) fn of(cell: &Cell) -> Self {
        let mask = ATTRIBUTES.iter().fold(Flags::empty(), |all, (flag, _)| all | *flag);
        Self {
            fg: cell.fg,
            bg: cell.bg,
            flags: cell.flags & mask,
            underline: cell.underline_color(),
            link: cell.hyperlink(),
        }
    }

    /// The style of an erased cell.
    pub(crate) fn erased(bg: Color) -> Self {
        Self { bg, ..Self::default() }
    }
}

/// Writes text and styles for a terminal.
#[derive(Debug, Default)]
pub(crate) struct StyleWriter {
    pub(crate) out: String,
    look: Style,
}

impl StyleWriter {
    /// Writes formatted text. Writing to memory cannot fail.
    pub(crate) fn write(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = self.out.write_fmt(text);
    }

    /// Changes the style of the following text.
    pub(crate) fn look(&mut self, look: &Style) {
        if self.look == *look {
            return;
        }
        if self.look.link != look.link {
            match &look.link {
                Some(link) => self.write(format_args!("\x1b]8;id={};{}\x1b\\", link.id(), link.uri())),
                None => self.out.push_str("\x1b]8;;\x1b\\"),
            }
        }
        let plain = Style { link: look.link.clone(), ..Style::default() };
        self.out.push_str("\x1b[");
        if *look != plain {
            self.out.push('0');
            for (flag, code) in ATTRIBUTES {
                if look.flags.contains(flag) {
                    self.out.push_str(code);
                }
            }
            self.colour(look.fg, 30);
            self.colour(look.bg, 40);
            if let Some(colour) = look.underline {
                self.colour(colour, 50);
            }
        }
        self.out.push('m');
        self.look = look.clone();
    }

    /// Writes a colour for text (30), background (40) or underline (50).
    fn colour(&mut self, colour: Color, base: usize) {
        match colour {
            Color::Named(NamedColor::Foreground | NamedColor::Background) => {}
            Color::Named(name) => match name as usize {
                index @ 0..8 if base < 50 => self.write(format_args!(";{}", base + index)),
                index @ 8..16 if base < 50 => self.write(format_args!(";{}", base + 52 + index)),
                index => self.write(format_args!(";{};5;{index}", base + 8)),
            },
            Color::Indexed(index) => self.write(format_args!(";{};5;{index}", base + 8)),
            Color::Spec(c) => self.write(format_args!(";{};2;{};{};{}", base + 8, c.r, c.g, c.b)),
        }
    }
}
