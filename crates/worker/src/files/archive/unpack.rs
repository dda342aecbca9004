//! Unpacks an uploaded archive into a folder that no program sees. If any part of it is invalid, the whole archive is
//! refused, before programs have seen any of it.

mod extract;
mod tar;
mod zip;

use std::fs::File;

use headwater_contract::v1::ArchiveFormat;
use headwater_contract::{Fault, FaultKind};
use headwater_workspace::sparse::IsCancelled;
use headwater_workspace::{Workspace, WorkspacePath};

use crate::files::archive::unpack::extract::Extractor;
pub(crate) use crate::files::archive::unpack::extract::{Bounds, Extracted};

/// Unpacks the whole archive or fails. Also returns the folders that get a restrictive mode after they were moved in.
pub(crate) fn unpack(
    archive: File,
    format: ArchiveFormat,
    into: &Workspace,
    bounds: Bounds,
    is_cancelled: IsCancelled<'_>,
) -> Result<(Extracted, Vec<(WorkspacePath, u32)>), Fault> {
    let mut extractor = Extractor::new(into, bounds, is_cancelled);
    match format {
        ArchiveFormat::Zip => zip::unpack(archive, &mut extractor)?,
        ArchiveFormat::TarGz => {
            let unzipped = flate2::read::MultiGzDecoder::new(std::io::BufReader::new(archive));
            tar::unpack(unzipped, &mut extractor)?;
        }
        _ => tar::unpack(std::io::BufReader::new(archive), &mut extractor)?,
    }
    Ok(extractor.finish())
}

/// The archive is invalid or hostile.
fn refused(why: impl std::fmt::Display) -> Fault {
    Fault::new(FaultKind::Invalid, format!("the archive was refused: {why}"))
        .hint("nothing of it was unpacked; send an archive of plain files, folders and symbolic links")
}

#[cfg(test)]
mod tests;
