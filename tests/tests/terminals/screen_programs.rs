//! Programs that draw: what the emulator shows is what their output draws.

use anyhow::Result;
use headwater_protocol::StartSpec;

use crate::screen::{Terminal, agrees_with_its_log, worker};

#[tokio::test]
async fn less_is_shown_as_its_output_draws_it() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let line =
        "for i in $(seq 200); do echo \"line $i of 中文\"; done > /tmp/t; less /tmp/t; echo bye; sleep 1000";
    let mut less = Terminal::start(&worker, StartSpec::shell(line)).await?;
    less.shows(&client, "line 1 of").await?;
    less.types(" ").await?;
    less.shows(&client, "line 40 of").await?;
    agrees_with_its_log(&client, less.id).await?;
    less.types("G").await?;
    less.shows(&client, "line 200 of").await?;
    agrees_with_its_log(&client, less.id).await?;
    less.types("q").await?;
    less.shows(&client, "bye").await?;
    let lines = agrees_with_its_log(&client, less.id).await?;
    assert!(!lines.iter().any(|line| line.contains("line 200")), "the shell's screen is back: {lines:?}");
    Ok(())
}

#[tokio::test]
async fn top_is_shown_as_its_output_draws_it() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let top = Terminal::start(&worker, StartSpec::shell("top -d 600")).await?;
    top.shows(&client, "COMMAND").await?;
    let lines = agrees_with_its_log(&client, top.id).await?;
    assert!(lines.first().is_some_and(|line| line.starts_with("top - ")), "{lines:?}");
    Ok(())
}

#[tokio::test]
async fn vim_is_shown_as_its_output_draws_it_and_is_given_back_the_screen() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let line = "echo before; $(command -v vim vim.tiny | head -n 1) -u NONE -N -i NONE /tmp/text; echo after; sleep 1000";
    let mut vim = Terminal::start(&worker, StartSpec::shell(line)).await?;
    vim.shows(&client, "~").await?;
    vim.types("ihello from vim\x1b").await?;
    vim.shows(&client, "hello from vim").await?;
    agrees_with_its_log(&client, vim.id).await?;
    vim.types(":q!\r").await?;
    vim.shows(&client, "after").await?;
    let lines = agrees_with_its_log(&client, vim.id).await?;
    assert!(lines.iter().any(|line| line == "before") && !lines.iter().any(|line| line.contains("hello")));
    Ok(())
}

const CURSES: &str = r#"
import curses, time
def main(screen):
    curses.start_color()
    curses.init_pair(1, curses.COLOR_RED, curses.COLOR_BLUE)
    screen.addstr(3, 5, "drawn by curses", curses.color_pair(1) | curses.A_BOLD)
    screen.border()
    window = screen.subwin(5, 30, 10, 10)
    window.scrollok(True)
    for i in range(20):
        window.addstr("row %d\n" % i)
        window.refresh()
    screen.addstr(20, 5, "done")
    screen.refresh()
    time.sleep(1000)
curses.wrapper(main)
"#;

#[tokio::test]
async fn a_curses_program_is_shown_as_its_output_draws_it() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let curses = Terminal::start(&worker, StartSpec::code("python", CURSES)).await?;
    curses.shows(&client, "done").await?;
    let lines = agrees_with_its_log(&client, curses.id).await?;
    assert!(lines.iter().any(|line| line.contains("drawn by curses")), "{lines:?}");
    Ok(())
}
