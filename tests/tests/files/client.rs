//! The typed client's calls about files.

use anyhow::{Context, Result, ensure};
use headwater_client::{ByteRange, ListOptions, WriteAt, WriteIf};
use headwater_protocol::SessionId;
use headwater_tests::Fixture;

#[tokio::test]
async fn the_client_reads_writes_and_lists_files_of_any_name() -> Result<()> {
    let fixture = Fixture::new().await?;
    let (client, id): (_, SessionId) = (fixture.server.client()?, fixture.session.parse()?);
    let name = b"d/\xff odd & name";
    let made = client.write_file(id, name, &b"one"[..], WriteAt::Whole, WriteIf::New).await?;
    let again = client.write_file(id, name, &b"x"[..], WriteAt::Whole, WriteIf::New).await;
    ensure!(again.is_err());
    client.write_file(id, name, &b" two"[..], WriteAt::End, WriteIf::Tag(made.etag.clone())).await?;
    client.write_file(id, name, &b"O"[..], WriteAt::Byte(0), WriteIf::Always).await?;
    ensure!(client.read_file(id, name, None).await?.bytes().await? == b"One two");
    ensure!(client.read_file(id, name, Some(ByteRange::Last(3))).await?.bytes().await? == b"two");
    ensure!(client.stat_file(id, name).await?.size == 7);
    client.create_folder(id, b"e/f").await?;
    client.copy_file(id, name, b"e/copy", false).await?;
    client.move_file(id, b"e/copy", b"e/moved", false).await?;
    client.remove_file(id, b"d", true).await?;
    let mut options = ListOptions { depth: Some(2), limit: Some(2), cursor: None };
    let page = client.list_files(id, b"", &options).await?;
    options.cursor = Some(page.next_cursor.context("one page")?);
    let rest = client.list_files(id, b"", &options).await?;
    let paths: Vec<_> = page.items.into_iter().chain(rest.items).map(|file| file.path).collect();
    ensure!(paths == ["e", "e/f", "e/moved"], "{paths:?}");
    Ok(())
}
