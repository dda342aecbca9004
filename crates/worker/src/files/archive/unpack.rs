//! Unpacking an archive that somebody sent, into a folder that no program sees. Whatever is wrong with any part of it, all
//! of it is refused: nothing has been seen of it by then.

mod extract;
mod tar;
mod zip;

use std::fs::File;

use headwater_contract::v1::ArchiveFormat;
use headwater_contract::{Fault, FaultKind};
use headwater_workspace::sparse::IsCancelled;
use headwater_workspace::{Workspace, WorkspacePath};

use crate::files::archive::unpack::extract::Sower;
pub(crate) use crate::files::archive::unpack::extract::{Bounds, Sown};

/// Unpacks all of it, or says why not. Answers also which folders are to get which rights when all of it is in its place.
pub(crate) fn unpack(
    archive: File,
    format: ArchiveFormat,
    into: &Workspace,
    bounds: Bounds,
    is_cancelled: IsCancelled<'_>,
) -> Result<(Sown, Vec<(WorkspacePath, u32)>), Fault> {
    let mut sower = Sower::new(into, bounds, is_cancelled);
    match format {
        ArchiveFormat::Zip => zip::unpack(archive, &mut sower)?,
        ArchiveFormat::TarGz => {
            let unzipped = flate2::read::MultiGzDecoder::new(std::io::BufReader::new(archive));
            tar::unpack(unzipped, &mut sower)?;
        }
        _ => tar::unpack(std::io::BufReader::new(archive), &mut sower)?,
    }
    Ok(sower.finish())
}

/// The archive is not one, or is hostile.
fn refused(why: impl std::fmt::Display) -> Fault {
    Fault::new(FaultKind::Invalid, format!("the archive is refused: {why}"))
        .hint("nothing of it was unpacked; send an archive of plain files, folders and symbolic links")
}

#[cfg(test)]
mod tests;
