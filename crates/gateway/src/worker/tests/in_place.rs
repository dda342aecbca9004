//! Folders of the host do not pass through the gateway.

use std::sync::Arc;

use headwater_protocol::{Place, PlaceMode, SessionId, SessionSpec};

use crate::worker::Worker;
use crate::worker::scripted::model::Model;
use crate::worker::scripted::{NoRestarter, ScriptedWorker};

#[tokio::test]
async fn a_folder_of_the_host_is_not_passed_on_whatever_the_spec_says() {
    let model = Arc::new(Model::default());
    let server = ScriptedWorker::start(model.script());
    let worker = Worker::new(server.connect().await, Arc::new(NoRestarter)).await.unwrap();
    let place = Place { folder: "/srv".into(), mode: PlaceMode::DangerFullAccess, writable: Vec::new() };
    let spec = SessionSpec { place: Some(place), name: Some("x".into()), ..SessionSpec::default() };
    let created = worker.create_session(SessionId::random(), &spec).await.unwrap();
    assert_eq!((created.spec.place, created.spec.name.as_deref()), (None, Some("x")));
}
