//! Packages of a session, from files of its workspace: no registry is reached here.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::scene::Scene;

/// Makes a wheel in the session: a zip with a module and its metadata.
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
async fn done(scene: &Scene, started: &Value) -> Result<String> {
    let id = started["id"].as_str().context("no execution")?;
    let ran = scene.end(id).await?;
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
    let scene = Scene::new().await?;
    let path = scene.path("python/environment");
    let told = scene.get(&path).await?;
    assert_eq!((&told["exists"], &told["path"]), (&json!(false), &json!("/workspace/.venv")));
    let prefix = json!({"language": "python", "code": "import sys; print(sys.prefix)"});
    assert_ne!(scene.run(&prefix).await?.stdout, "/workspace/.venv\n");
    let made = scene.good("POST", &path, &Value::Null, 201).await?;
    let ran = scene.end(made["execution_id"].as_str().context("no execution")?).await?;
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    let told = scene.good("POST", &path, &Value::Null, 200).await?;
    assert_eq!((&told["exists"], &told["execution_id"]), (&json!(true), &Value::Null));
    assert!(told["version"].as_str().is_some_and(|version| version.starts_with("3.")), "{told}");
    assert_eq!(scene.run(&prefix).await?.stdout, "/workspace/.venv\n");
    // From a file, too, and the environment's own tools are there.
    let saved = json!({"language": "py", "code": "import sys; print(sys.prefix)", "file": "a.py"});
    assert_eq!(scene.run(&saved).await?.stdout, "/workspace/.venv\n");
    let listed = scene.get(&scene.path("python/packages")).await?;
    assert_eq!(versions(&listed, "pip").len(), 1, "{listed}");
    // Another session has nothing of it.
    let other = scene.new_session(&json!({})).await?;
    let told = scene.get(&format!("/v1/sessions/{other}/python/environment")).await?;
    assert_eq!(told["exists"], json!(false));
    Ok(())
}

#[tokio::test]
async fn python_packages_are_installed_listed_and_uninstalled() -> Result<()> {
    let scene = Scene::new().await?;
    for version in ["1.0", "2.0"] {
        let made = scene.run(&json!({"language": "python", "code": WHEEL, "args": [version]})).await?;
        assert_eq!(made.code(), Some(0), "{made:?}");
    }
    let path = scene.path("python/packages");
    assert_eq!(scene.get(&path).await?["exists"], json!(false));
    // The environment is made on the way.
    let body = json!({"install": ["./tiny_wheel-1.0-py3-none-any.whl"]});
    let said = done(&scene, &scene.good("POST", &path, &body, 201).await?).await?;
    assert!(said.contains("Successfully installed tiny-wheel-1.0"), "{said}");
    assert_eq!(versions(&scene.get(&path).await?, "tiny-wheel"), ["1.0"]);
    let import = json!({"language": "python", "code": "import tiny_wheel; print(tiny_wheel.said)"});
    assert_eq!(scene.run(&import).await?.stdout, "tiny 1.0\n");
    // A file that names packages; out with the old one in the same go.
    scene.shell("mkdir -p deps && echo ./tiny_wheel-2.0-py3-none-any.whl > deps/requirements.txt").await?;
    let body =
        json!({"uninstall": ["tiny-wheel"], "requirements": "/deps/requirements.txt", "offline": true});
    done(&scene, &scene.good("POST", &path, &body, 201).await?).await?;
    assert_eq!(versions(&scene.get(&path).await?, "tiny-wheel"), ["2.0"]);
    let body = json!({"uninstall": ["tiny-wheel"]});
    done(&scene, &scene.good("POST", &path, &body, 201).await?).await?;
    let listed = scene.get(&path).await?;
    assert_eq!((versions(&listed, "tiny-wheel").len(), &listed["exists"]), (0, &json!(true)), "{listed}");
    Ok(())
}

#[tokio::test]
async fn node_packages_are_installed_listed_and_uninstalled() -> Result<()> {
    let scene = Scene::new().await?;
    let pack = "mkdir package && echo '{\"name\":\"@tiny/pack\",\"version\":\"1.2.3\",\"main\":\"i.js\"}' > package/package.json && \
                echo 'module.exports = \"tiny\"' > package/i.js && tar czf pack.tgz package && rm -r package";
    scene.shell(pack).await?;
    let path = scene.path("node/packages");
    assert_eq!(scene.get(&path).await?["exists"], json!(false));
    done(&scene, &scene.good("POST", &path, &json!({"install": ["/workspace/pack.tgz"]}), 201).await?)
        .await?;
    assert_eq!(versions(&scene.get(&path).await?, "@tiny/pack"), ["1.2.3"]);
    let ran = scene.run(&json!({"language": "js", "code": "console.log(require('@tiny/pack'))"})).await?;
    assert_eq!(ran.stdout, "tiny\n", "{ran:?}");
    done(&scene, &scene.good("POST", &path, &json!({"uninstall": ["@tiny/pack"]}), 201).await?).await?;
    assert_eq!(versions(&scene.get(&path).await?, "@tiny/pack").len(), 0);
    Ok(())
}

#[tokio::test]
async fn a_package_cannot_be_an_option_a_url_or_a_command_and_needs_a_network() -> Result<()> {
    let scene = Scene::new().await?;
    for kind in ["python", "node"] {
        let path = scene.path(&format!("{kind}/packages"));
        for word in
            ["--index-url=http://x", "-e", "a; touch bad", "$(touch bad)", "http://x/y", "../a", "a b", ""]
        {
            scene.bad(&path, &json!({"install": [word]}), 400).await?;
            scene.bad(&path, &json!({"uninstall": [word]}), 400).await?;
        }
        scene.bad(&path, &json!({}), 400).await?;
        scene.bad(&path, &json!({"install": vec!["a"; 201]}), 400).await?;
        scene.bad(&path, &json!({"odd": 1}), 400).await?;
        let error = scene.bad(&path, &json!({"install": ["some-package"]}), 409).await?;
        assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("\"network\"")), "{error}");
    }
    let path = scene.path("python/packages");
    scene.bad(&path, &json!({"requirements": "requirements.txt"}), 409).await?;
    scene.bad(&path, &json!({"requirements": "../requirements.txt"}), 400).await?;
    let started = scene.get(&format!("/v1/executions?session_id={}", scene.session)).await?;
    assert_eq!(started["items"], json!([]), "nothing was run for it");
    Ok(())
}

#[tokio::test]
async fn links_in_an_environment_do_not_lead_out_of_it() -> Result<()> {
    let scene = Scene::new().await?;
    let lay = "mkdir -p .venv/bin .venv/lib/python3/site-packages/a-1.dist-info && touch .venv/bin/python && \
               ln -s /etc/hostname .venv/pyvenv.cfg && ln -s /etc/passwd .venv/lib/python3/site-packages/a-1.dist-info/METADATA && \
               ln -s /etc .venv/lib/python3/site-packages/b-1.dist-info && \
               mkdir -p node_modules/fifo && mkfifo node_modules/fifo/package.json && ln -s /etc node_modules/out";
    scene.shell(lay).await?;
    let listed = scene.get(&scene.path("python/packages")).await?;
    assert_eq!(listed["packages"], json!([{"name": "a", "version": "1"}]));
    assert_eq!(scene.get(&scene.path("python/environment")).await?["version"], Value::Null);
    assert_eq!(scene.get(&scene.path("node/packages")).await?["packages"], json!([]));
    Ok(())
}
