//! Images of every kind, valid and hostile.

use std::io::Cursor;

use ::image::{DynamicImage, ImageFormat, RgbImage, Rgba, RgbaImage};

use crate::files::image::{media_type, prepare};

fn encoded(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let image = DynamicImage::ImageRgb8(RgbImage::new(width, height));
    let mut bytes = Vec::new();
    image.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
    bytes
}

const FORMATS: [(ImageFormat, &str); 4] = [
    (ImageFormat::Png, "image/png"),
    (ImageFormat::Jpeg, "image/jpeg"),
    (ImageFormat::Gif, "image/gif"),
    (ImageFormat::WebP, "image/webp"),
];

#[test]
fn small_images_of_every_format_stay_as_they_are() {
    for (format, expected) in FORMATS {
        let bytes = encoded(30, 20, format);
        assert_eq!(media_type(&bytes), Some(expected));
        let prepared = prepare(&bytes).unwrap();
        assert_eq!((prepared.image.media_type, prepared.from, prepared.to), (expected, (30, 20), (30, 20)));
        assert_eq!(prepared.image.bytes, bytes);
    }
}

#[test]
fn large_images_are_scaled_and_keep_their_proportions() {
    for (format, _) in FORMATS {
        let prepared = prepare(&encoded(4000, 1000, format)).unwrap();
        assert_eq!((prepared.from, prepared.to), ((4000, 1000), (2000, 500)));
        let expected = if format == ImageFormat::Jpeg { "image/jpeg" } else { "image/png" };
        assert_eq!(prepared.image.media_type, expected);
        let shown = ::image::load_from_memory(&prepared.image.bytes).unwrap();
        assert_eq!((shown.width(), shown.height()), (2000, 500));
    }
}

#[test]
fn an_image_that_does_not_compress_becomes_small_enough() {
    let mut state = 1_u32;
    let noise = RgbaImage::from_fn(1900, 1900, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Rgba(state.to_be_bytes())
    });
    let mut bytes = Vec::new();
    DynamicImage::ImageRgba8(noise).write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png).unwrap();
    let prepared = prepare(&bytes).unwrap();
    assert_eq!((prepared.image.media_type, prepared.to), ("image/jpeg", (1900, 1900)));
    assert!(prepared.image.bytes.len() <= 3_700_000);
}

#[test]
fn what_is_not_an_image_or_is_broken_is_refused() {
    for bytes in [b"".as_slice(), b"text", b"<svg></svg>", b"BM123456789012345678901234567890", &[0; 100]] {
        assert!(prepare(bytes).unwrap_err().contains("is not an image"), "{bytes:?}");
    }
    for (format, name) in FORMATS {
        let bytes = encoded(300, 200, format);
        // The beginning of a JPEG's pixels is an image, with the rest in grey.
        let cut = if format == ImageFormat::Jpeg { 40 } else { bytes.len() / 3 };
        let error = prepare(&bytes[..cut]).unwrap_err();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn an_image_that_claims_to_be_huge_is_refused_before_it_takes_memory() {
    let mut bytes = encoded(10, 10, ImageFormat::Png);
    // The width in the header, and its checksum.
    bytes[16..20].copy_from_slice(&100_000_u32.to_be_bytes());
    bytes[20..24].copy_from_slice(&100_000_u32.to_be_bytes());
    let mut crc = flate2::Crc::new();
    crc.update(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&crc.sum().to_be_bytes());
    let error = prepare(&bytes).unwrap_err();
    assert!(error.contains("limit") || error.contains("Limit"), "{error}");
}
