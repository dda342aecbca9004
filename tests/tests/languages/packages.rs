//! Packages of a session, from files of its workspace: no registry is reached here.

use anyhow::{Context, Result, ensure};
use headwater_tests::Fixture;
use headwater_tests::http::{error_of, json_of};
use serde_json::{Value, json};

use crate::calls::{Languages, fixture};

/// Builds a wheel in the session: a zip with a module and its metadata.
const WHEEL: &str = r#"
import zipfile, sys
version = sys.argv[1]
info = f"tiny_wheel-{version}.dist-info"
with zipfile.ZipFile(f"tiny_wheel-{version}-py3-none-any.whl", "w") as wheel:
    wheel.writestr("tiny_wheel.py", f"said = 'tiny {version}'\n")
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-wheel\nVersion: {version}\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(f"{info}/RECORD", f"tiny_wheel.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
"#;

/// Waits for an execution that must end well.
async fn done(fixture: &Fixture, started: &Value) -> Result<String> {
    let id = started["id"].as_str().context("no execution")?;
    let ran = fixture.end(id).await?;
    ensure!(ran.code() == Some(0), "{ran:?}");
    Ok(ran.stdout)
}

fn versions(listed: &Value, name: &str) -> Vec<String> {
    let packages = listed["packages"].as_array().into_iter().flatten();
    let found = packages.filter(|package| package["name"] == name);
    found.filter_map(|package| package["version"].as_str().map(ToOwned::to_owned)).collect()
}

#[tokio::test]
async fn a_virtual_environment_is_made_once_and_python_runs_in_it() -> Result<()> {
    let fixture = fixture("").await?;
    let path = fixture.path("python/environment");
    let info = fixture.json(&path).await?;
    assert_eq!((&info["exists"], &info["path"]), (&json!(false), &json!("/workspace/.venv")));
    let prefix = json!({"language": "python", "code": "import sys; print(sys.prefix)"});
    assert_ne!(fixture.run_code(&prefix).await?.stdout, "/workspace/.venv\n");
    let made = json_of(&fixture.post(&path, &Value::Null).await?, 201)?;
    let ran = fixture.end(made["execution_id"].as_str().context("no execution")?).await?;
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    let info = json_of(&fixture.post(&path, &Value::Null).await?, 200)?;
    assert_eq!((&info["exists"], &info["execution_id"]), (&json!(true), &Value::Null));
    assert!(info["version"].as_str().is_some_and(|version| version.starts_with("3.")), "{info}");
    assert_eq!(fixture.run_code(&prefix).await?.stdout, "/workspace/.venv\n");
    // From a file, too, and with the tools of the environment.
    let saved = json!({"language": "py", "code": "import sys; print(sys.prefix)", "file": "a.py"});
    assert_eq!(fixture.run_code(&saved).await?.stdout, "/workspace/.venv\n");
    let listed = fixture.json(&fixture.path("python/packages")).await?;
    assert_eq!(versions(&listed, "pip").len(), 1, "{listed}");
    // Another session has nothing of it.
    let other = fixture.api.session(&json!({})).await?;
    let info = fixture.json(&format!("/v1/sessions/{other}/python/environment")).await?;
    assert_eq!(info["exists"], json!(false));
    Ok(())
}

#[tokio::test]
async fn python_packages_are_installed_listed_and_uninstalled() -> Result<()> {
    let fixture = fixture("").await?;
    for version in ["1.0", "2.0"] {
        let made = fixture.run_code(&json!({"language": "python", "code": WHEEL, "args": [version]})).await?;
        assert_eq!(made.code(), Some(0), "{made:?}");
    }
    let path = fixture.path("python/packages");
    assert_eq!(fixture.json(&path).await?["exists"], json!(false));
    // The environment is made on the way.
    let body = json!({"install": ["./tiny_wheel-1.0-py3-none-any.whl"]});
    let said = done(&fixture, &json_of(&fixture.post(&path, &body).await?, 201)?).await?;
    assert!(said.contains("Successfully installed tiny-wheel-1.0"), "{said}");
    assert_eq!(versions(&fixture.json(&path).await?, "tiny-wheel"), ["1.0"]);
    let import = json!({"language": "python", "code": "import tiny_wheel; print(tiny_wheel.said)"});
    assert_eq!(fixture.run_code(&import).await?.stdout, "tiny 1.0\n");
    // A file that names packages; out with the old one in the same go.
    fixture.run("mkdir -p deps && echo ./tiny_wheel-2.0-py3-none-any.whl > deps/requirements.txt").await?;
    let body =
        json!({"uninstall": ["tiny-wheel"], "requirements": "/deps/requirements.txt", "offline": true});
    done(&fixture, &json_of(&fixture.post(&path, &body).await?, 201)?).await?;
    assert_eq!(versions(&fixture.json(&path).await?, "tiny-wheel"), ["2.0"]);
    let body = json!({"uninstall": ["tiny-wheel"]});
    done(&fixture, &json_of(&fixture.post(&path, &body).await?, 201)?).await?;
    let listed = fixture.json(&path).await?;
    assert_eq!((versions(&listed, "tiny-wheel").len(), &listed["exists"]), (0, &json!(true)), "{listed}");
    Ok(())
}

#[tokio::test]
async fn node_packages_are_installed_listed_and_uninstalled() -> Result<()> {
    let fixture = fixture("").await?;
    let pack = "mkdir package && echo '{\"name\":\"@tiny/pack\",\"version\":\"1.2.3\",\"main\":\"i.js\"}' > package/package.json && \
                echo 'module.exports = \"tiny\"' > package/i.js && tar czf pack.tgz package && rm -r package";
    fixture.run(pack).await?;
    let path = fixture.path("node/packages");
    assert_eq!(fixture.json(&path).await?["exists"], json!(false));
    done(&fixture, &json_of(&fixture.post(&path, &json!({"install": ["/workspace/pack.tgz"]})).await?, 201)?)
        .await?;
    assert_eq!(versions(&fixture.json(&path).await?, "@tiny/pack"), ["1.2.3"]);
    let ran =
        fixture.run_code(&json!({"language": "js", "code": "console.log(require('@tiny/pack'))"})).await?;
    assert_eq!(ran.stdout, "tiny\n", "{ran:?}");
    done(&fixture, &json_of(&fixture.post(&path, &json!({"uninstall": ["@tiny/pack"]})).await?, 201)?)
        .await?;
    assert_eq!(versions(&fixture.json(&path).await?, "@tiny/pack").len(), 0);
    Ok(())
}

#[tokio::test]
async fn a_package_cannot_be_an_option_a_url_or_a_command_and_needs_a_network() -> Result<()> {
    let fixture = fixture("").await?;
    for kind in ["python", "node"] {
        let path = fixture.path(&format!("{kind}/packages"));
        for word in
            ["--index-url=http://x", "-e", "a; touch bad", "$(touch bad)", "http://x/y", "../a", "a b", ""]
        {
            error_of(&fixture.post(&path, &json!({"install": [word]})).await?, 400)?;
            error_of(&fixture.post(&path, &json!({"uninstall": [word]})).await?, 400)?;
        }
        error_of(&fixture.post(&path, &json!({})).await?, 400)?;
        error_of(&fixture.post(&path, &json!({"install": vec!["a"; 201]})).await?, 400)?;
        error_of(&fixture.post(&path, &json!({"odd": 1})).await?, 400)?;
        let error = error_of(&fixture.post(&path, &json!({"install": ["some-package"]})).await?, 409)?;
        assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("\"network\"")), "{error}");
    }
    let path = fixture.path("python/packages");
    error_of(&fixture.post(&path, &json!({"requirements": "requirements.txt"})).await?, 409)?;
    error_of(&fixture.post(&path, &json!({"requirements": "../requirements.txt"})).await?, 400)?;
    let started = fixture.json(&format!("/v1/executions?session_id={}", fixture.session)).await?;
    assert_eq!(started["items"], json!([]), "nothing was run for it");
    Ok(())
}

#[tokio::test]
async fn links_in_an_environment_do_not_lead_out_of_it() -> Result<()> {
    let fixture = fixture("").await?;
    let lay = "mkdir -p .venv/bin .venv/lib/python3/site-packages/a-1.dist-info && touch .venv/bin/python && \
               ln -s /etc/hostname .venv/pyvenv.cfg && ln -s /etc/passwd .venv/lib/python3/site-packages/a-1.dist-info/METADATA && \
               ln -s /etc .venv/lib/python3/site-packages/b-1.dist-info && \
               mkdir -p node_modules/fifo && mkfifo node_modules/fifo/package.json && ln -s /etc node_modules/out";
    fixture.run(lay).await?;
    let listed = fixture.json(&fixture.path("python/packages")).await?;
    assert_eq!(listed["packages"], json!([{"name": "a", "version": "1"}]));
    assert_eq!(fixture.json(&fixture.path("python/environment")).await?["version"], Value::Null);
    assert_eq!(fixture.json(&fixture.path("node/packages")).await?["packages"], json!([]));
    Ok(())
}
