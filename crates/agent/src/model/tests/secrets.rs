//! Keys: where they come from, and that they appear nowhere.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;

const KEY: &str = "sk-secret-0123456789";
const HEADER: &str = "header-secret-0123456789";

/// A model with a key in a file, and a secret in a header.
fn with_key(api: Api, base_url: &str, folder: &std::path::Path) -> Provider {
    let path = folder.join("key");
    std::fs::write(&path, format!("{KEY}\n")).unwrap();
    let headers = BTreeMap::from([("x-more".to_owned(), HEADER.to_owned())]);
    Provider::new("m", ModelConfig { api_key_file: Some(path), headers, ..config(api, base_url) })
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_key_never_appears_in_an_error_a_log_or_a_debug_text() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let folder = tempfile::tempdir().unwrap();
    // A provider that repeats the key and the header in its refusal, and one that does so inside an answer.
    let repeated = format!("the key {KEY} and {HEADER} are wrong");
    let refused = json!({"fail": {"status": 401, "times": 99, "message": repeated}});
    let overloaded = json!({"fail": {"status": 503, "retry_after": 0, "times": 99, "message": repeated}});
    for turn in [refused, overloaded, json!({"text": "x y z", "error": repeated})] {
        let endpoint = scripted(json!({"turns": [turn], "key": KEY})).await;
        for api in APIS {
            let model = with_key(api, &endpoint.base_url(), folder.path());
            let (_, error) = ask(&model, &prompt("x")).await;
            let error = error.unwrap();
            let texts = format!("{error} {error:?} {model:?}");
            assert!(!texts.contains(KEY) && !texts.contains(HEADER), "{texts}");
            assert!(texts.contains("***"), "{texts}");
            assert!(endpoint.requests().iter().all(|request| !request.body.to_string().contains(KEY)));
        }
    }
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(log.contains("the call of the model is repeated"), "what is logged is seen: {log}");
    assert!(!log.contains(KEY) && !log.contains(HEADER));
}

#[tokio::test]
async fn a_key_is_sent_as_its_api_wants_and_read_again_for_each_call() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = scripted(json!({"turns": [{"text": "fine"}], "key": KEY})).await;
    for api in APIS {
        let model = with_key(api, &endpoint.base_url(), folder.path());
        assert_eq!(model.check().await, Ok(()));
        assert_eq!(ask(&model, &prompt("x")).await.1, None);
        std::fs::write(folder.path().join("key"), "another").unwrap();
        assert_eq!(ask(&model, &prompt("x")).await.1.unwrap().kind, ModelErrorKind::Unauthorized);
        assert_eq!(model.check().await.unwrap_err().kind, ModelErrorKind::Unauthorized);
    }
}

#[tokio::test]
async fn a_missing_key_is_reported_before_anything_is_sent() {
    let endpoint = scripted(json!([{"text": "x"}])).await;
    let keyless = |change: fn(&mut ModelConfig)| {
        let mut config = config(Api::Chat, &endpoint.base_url());
        change(&mut config);
        Provider::new("m", config)
    };
    let unset = keyless(|config| config.api_key_env = Some("HEADWATER_NO_SUCH_KEY".to_owned()));
    let missing = keyless(|config| config.api_key_file = Some("/no/such/key".into()));
    for (model, says) in
        [(unset, "`HEADWATER_NO_SUCH_KEY` is not set"), (missing, "`/no/such/key` cannot be read")]
    {
        for error in [ask(&model, &prompt("x")).await.1.unwrap(), model.check().await.unwrap_err()] {
            assert_eq!(error.kind, ModelErrorKind::Unauthorized);
            assert!(error.message.contains(says) && error.message.contains("api_key_env"), "{error}");
        }
    }
    assert_eq!(endpoint.requests().len(), 0);
}

#[tokio::test]
async fn a_check_says_which_models_can_be_reached() {
    let endpoint = scripted(json!([])).await;
    // A port that nobody listens on: it was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let configs = ModelConfigs::from([
        ("a".to_owned(), config(Api::Chat, &endpoint.base_url())),
        ("b".to_owned(), config(Api::Messages, &format!("http://{free}"))),
        ("c".to_owned(), config(Api::Responses, &format!("{}/nowhere", endpoint.url()))),
    ]);
    let models = Models::from_config(&configs);
    let checked = models.check().await;
    assert_eq!(checked["a"], Ok(()));
    assert_eq!(checked["c"], Ok(()), "an endpoint without a list of models can be reached");
    let error = checked["b"].clone().unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unreachable);
    assert!(
        error.message.starts_with("the model `b` cannot be reached: ") && error.message.contains("base_url"),
        "{error}"
    );
    assert_eq!(models.default_model().unwrap().name(), "a", "the first, if none is marked");
    let info: Vec<_> = models.list().map(|model| (model.is_default, model.context_tokens)).collect();
    assert_eq!(info, [(true, 128_000), (false, 200_000), (false, 128_000)]);
}
