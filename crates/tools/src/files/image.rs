//! `view_image`: an image of the workspace, as a model can see it.

use std::io::Cursor;
use std::sync::LazyLock;

use ::image::codecs::jpeg::JpegEncoder;
use ::image::imageops::FilterType;
use ::image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use headwater_contract::v1;
use tokio::sync::Semaphore;

use super::{Files, paths};
use crate::error::ToolError;
use crate::outcome::{Image, Outcome};
use crate::schema::ViewImage;

/// The largest file.
const MAX_FILE_BYTES: u64 = 32 << 20;
/// The longest side, in pixels: models scale larger images down themselves, and charge for them.
const MAX_SIDE: u32 = 2000;
/// The largest result: a model's interface takes 5 MB of base64.
const MAX_RESULT_BYTES: usize = 3_700_000;
/// The longest side that is decoded, and the memory for it: a small file can claim to be huge.
const MAX_DECODED_SIDE: u32 = 20_000;
const MAX_DECODED_BYTES: u64 = 512 << 20;
/// Images that are decoded at the same time, because of their memory.
static DECODERS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(2));
/// The qualities of JPEGs that are tried until one is small enough.
const QUALITIES: [u8; 3] = [85, 70, 50];

/// The media type by the first bytes of a file.
pub(super) fn media_type(start: &[u8]) -> Option<&'static str> {
    format_of(start).map(|(_, media_type)| media_type)
}

fn format_of(start: &[u8]) -> Option<(ImageFormat, &'static str)> {
    let format = ::image::guess_format(start).ok()?;
    let media_type = match format {
        ImageFormat::Png => "image/png",
        ImageFormat::Jpeg => "image/jpeg",
        ImageFormat::Gif => "image/gif",
        ImageFormat::WebP => "image/webp",
        _ => return None,
    };
    Some((format, media_type))
}

pub(super) async fn view_image(files: &Files<'_>, args: &ViewImage) -> Result<Outcome, ToolError> {
    let path = files.file(&args.path).await?;
    let shown = paths::shown(path.as_str());
    let entry =
        files.calls.retry(|client| client.stat_file(files.session, path.as_str().to_owned().into())).await;
    let entry = match entry {
        Ok(entry) if entry.kind() == v1::FileKind::File => entry,
        Ok(_) => {
            return Err(ToolError::new(format!("`{shown}` is not a regular file"))
                .hint("Folders and links cannot be shown: name the image itself"));
        }
        Err(headwater_contract::ContractError::Fault(fault))
            if fault.kind == headwater_contract::FaultKind::NotFound =>
        {
            return Err(files.missing(path.as_str(), "list_dir lists a directory").await);
        }
        Err(error) => return Err(error.into()),
    };
    if entry.size > MAX_FILE_BYTES {
        let message = format!("`{shown}` has {} bytes, the maximum is {MAX_FILE_BYTES}", entry.size);
        return Err(ToolError::new(message).hint("Make a smaller copy with a program, and view that"));
    }
    let bytes = files.read_one(path.as_str()).await?;
    if let Some(error) = bytes.error {
        return Err(ToolError::new(format!("`{shown}` cannot be read: {error}")));
    }
    let permit = DECODERS.acquire().await;
    let prepare = move || {
        let prepared = prepare(bytes.bytes.as_ref());
        drop(permit); // even if the caller has gone meanwhile
        prepared
    };
    let prepared = tokio::task::spawn_blocking(prepare).await;
    let prepared =
        prepared.map_err(|error| ToolError::new(format!("the image could not be read: {error}")))?;
    let Prepared { image, from, to } = prepared.map_err(|error| {
        ToolError::new(format!("`{shown}` {error}"))
            .hint("The formats are PNG, JPEG, GIF and WebP: convert it with a program, and view that")
    })?;
    let scaled = if from == to { String::new() } else { format!(", scaled to {}x{}", to.0, to.1) };
    let text = format!("{shown}: {} of {}x{} pixels{scaled}", image.media_type, from.0, from.1);
    Ok(Outcome { text, image: Some(image), ..Outcome::default() })
}

/// An image for a model, with its sizes before and after.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) image: Image,
    pub(super) from: (u32, u32),
    pub(super) to: (u32, u32),
}

/// Checks an image, and scales it down if it is too large. An error is the rest of a sentence about the file.
pub(super) fn prepare(bytes: &[u8]) -> Result<Prepared, String> {
    let (format, media_type) =
        format_of(bytes).ok_or_else(|| "is not an image that can be shown".to_owned())?;
    let broken = |error: ::image::ImageError| format!("is not a valid image ({media_type}): {error}");
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_DECODED_SIDE);
    limits.max_image_height = Some(MAX_DECODED_SIDE);
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let from = decoder.dimensions();
    let is_small = from.0.max(from.1) <= MAX_SIDE && bytes.len() <= MAX_RESULT_BYTES;
    // Decoded even if it is not changed: a model's interface refuses the whole request for an invalid image.
    let orientation = decoder.orientation().map_err(broken)?;
    let mut pixels = DynamicImage::from_decoder(decoder).map_err(broken)?;
    if is_small {
        let image = Image { media_type, bytes: bytes.to_vec() };
        return Ok(Prepared { image, from, to: from });
    }
    pixels.apply_orientation(orientation);
    let scaled = if from.0.max(from.1) > MAX_SIDE {
        pixels.resize(MAX_SIDE, MAX_SIDE, FilterType::Triangle)
    } else {
        pixels
    };
    let to = (scaled.width(), scaled.height());
    Ok(Prepared { image: encode(&scaled, format)?, from, to })
}

/// Photos stay JPEG; everything else becomes PNG, unless that is too large.
fn encode(image: &DynamicImage, format: ImageFormat) -> Result<Image, String> {
    let failed = |error: ::image::ImageError| format!("could not be scaled: {error}");
    if format != ImageFormat::Jpeg {
        let mut bytes = Vec::new();
        image.write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png).map_err(failed)?;
        if bytes.len() <= MAX_RESULT_BYTES {
            return Ok(Image { media_type: "image/png", bytes });
        }
    }
    let opaque = DynamicImage::ImageRgb8(image.to_rgb8());
    for quality in QUALITIES {
        let mut bytes = Vec::new();
        opaque.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, quality)).map_err(failed)?;
        if bytes.len() <= MAX_RESULT_BYTES {
            return Ok(Image { media_type: "image/jpeg", bytes });
        }
    }
    Err("is too large even if it is scaled down".to_owned())
}
