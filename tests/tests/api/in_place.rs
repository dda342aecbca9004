//! Folders of the host are for people at this machine: no request can name one, and no session in one is served.

use anyhow::{Context, Result};
use headwater_contract::connect;
use headwater_protocol::{Network, Place, PlaceMode, SessionSpec, StartSpec};
use headwater_tests::TestServer;
use headwater_tests::host::eventually;
use headwater_tests::http::{error_code, json_of, texts};
use serde_json::{Value, json};

#[tokio::test]
async fn no_request_can_name_a_folder_of_the_host() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let place = json!({"folder": "/srv", "mode": "danger-full-access", "writable": ["/"]});
    for (path, mut body) in [
        ("/v1/sessions", json!({})),
        ("/v1/executions", json!({"shell": "true"})),
        ("/v1/sessions/build/cpp", json!({"code": "int main() {}"})),
    ] {
        for field in ["place", "folder", "in_place"] {
            body[field] = place.clone();
            let answer = me.post(path, &body).await?;
            assert!((400..500).contains(&answer.status), "{path} {field}: {}", answer.status);
            body.as_object_mut().context("an object")?.remove(field);
        }
    }
    let document: Value = serde_json::from_str(include_str!("../../../docs/openapi.json"))?;
    for schema in ["SessionRequest", "SessionPatch", "StartRequest"] {
        let fields = document["components"]["schemas"][schema]["properties"].as_object();
        let fields = fields.with_context(|| schema.to_owned())?;
        assert!(!fields.contains_key("place") && !fields.contains_key("folder"), "{schema}");
    }
    // Neither by metadata.
    let asked = json!({"metadata": {"headwater.folder": "/srv", "headwater.mode": "danger-full-access"}});
    let answer = me.post("/v1/sessions", &asked).await?;
    assert!((400..500).contains(&answer.status), "{}", answer.status);
    Ok(())
}

#[tokio::test]
async fn an_in_place_session_of_this_machine_is_not_served() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let folder = tempfile::tempdir()?;
    let path = std::fs::canonicalize(folder.path())?.to_str().context("UTF-8")?.to_owned();
    let worker = connect(&server.data().join("worker.sock")).await?;
    for (mode, network) in
        [(PlaceMode::WorkspaceWrite, Network::None), (PlaceMode::DangerFullAccess, Network::Full)]
    {
        let place = Some(Place { folder: path.clone(), mode, writable: Vec::new() });
        let spec = SessionSpec { place, network, ..SessionSpec::default() };
        let session = worker.create_session(None, &spec).await?.id;
        let execution = worker.start(session, None, &StartSpec::shell("echo secret; sleep 1000")).await?.id;
        // The control: an ordinary one of the command line is adopted.
        let plain = worker.create_session(None, &SessionSpec::default()).await?.id;
        eventually("the ordinary session is listed", async || {
            me.json("/v1/sessions").await.is_ok_and(|page| texts(&page, "id").contains(&plain.to_string()))
        })
        .await?;
        assert!(!texts(&me.json("/v1/sessions").await?, "id").contains(&session.to_string()), "{mode:?}");
        assert!(!texts(&me.json("/v1/executions").await?, "id").contains(&execution.to_string()), "{mode:?}");
        for path in [
            format!("/v1/sessions/{session}"),
            format!("/v1/sessions/{session}/files"),
            format!("/v1/sessions/{session}/usage"),
            format!("/v1/executions/{execution}"),
            format!("/v1/executions/{execution}/output"),
        ] {
            assert_eq!(error_code(&me.get(&path).await?, 404)?, "not_found", "{mode:?} {path}");
        }
        let started = me.post(&format!("/v1/sessions/{session}/executions"), &json!({"shell": "id"})).await?;
        error_code(&started, 404)?;
        error_code(&me.delete(&format!("/v1/sessions/{session}")).await?, 404)?;
        error_code(&me.post(&format!("/v1/executions/{execution}/cancel"), &json!({})).await?, 404)?;
        worker.end_session(session, true).await?;
    }
    json_of(&me.get("/v1/sessions").await?, 200)?;
    Ok(())
}
