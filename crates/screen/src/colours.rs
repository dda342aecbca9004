//! The colours reported to programs that ask, unless they set others: those of xterm on black.

use alacritty_terminal::vte::ansi::{NamedColor, Rgb};

const BASE: [u32; 16] = [
    0x00_0000, 0xcd_0000, 0x00_cd00, 0xcd_cd00, 0x00_00ee, 0xcd_00cd, 0x00_cdcd, 0xe5_e5e5, 0x7f_7f7f,
    0xff_0000, 0x00_ff00, 0xff_ff00, 0x5c_5cff, 0xff_00ff, 0x00_ffff, 0xff_ffff,
];

fn rgb(value: u32) -> Rgb {
    let [_, r, g, b] = value.to_be_bytes();
    Rgb { r, g, b }
}

/// The colour with this index.
pub(crate) fn colour(index: usize) -> Rgb {
    let level = |step: usize| u8::try_from(if step == 0 { 0 } else { 55 + 40 * step }).unwrap_or(u8::MAX);
    match index {
        0..16 => rgb(BASE.get(index).copied().unwrap_or_default()),
        16..232 => {
            let cube = index - 16;
            Rgb { r: level(cube / 36), g: level(cube / 6 % 6), b: level(cube % 6) }
        }
        232..256 => {
            let grey = u8::try_from(8 + 10 * (index - 232)).unwrap_or(u8::MAX);
            Rgb { r: grey, g: grey, b: grey }
        }
        _ if index == NamedColor::Background as usize => rgb(0),
        _ => rgb(0xe5_e5e5),
    }
}
