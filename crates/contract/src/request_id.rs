//! The id of the API request that a call to the worker is made for. The worker's log contains it.

use tonic::service::Interceptor;
use tonic::{Request, Status};

/// The metadata of a call that contains the id.
pub const REQUEST_ID: &str = "x-request-id";

tokio::task_local! {
    static CURRENT: String;
}

/// Runs `work` for the request with this id.
pub async fn with_request_id<F: Future>(id: String, work: F) -> F::Output {
    CURRENT.scope(id, work).await
}

/// The id of the request that this task works for; empty if there is none.
pub fn request_id() -> String {
    CURRENT.try_with(Clone::clone).unwrap_or_default()
}

/// Adds the id of the current request to each call.
#[derive(Debug, Clone, Copy)]
pub struct SendRequestId;

impl Interceptor for SendRequestId {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let id = CURRENT.try_with(|id| id.parse());
        if let Ok(Ok(id)) = id {
            request.metadata_mut().insert(REQUEST_ID, id);
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_call_carries_the_id_of_its_request_and_others_carry_none() {
        let sent = || {
            let request = SendRequestId.call(Request::new(())).unwrap();
            request.metadata().get(REQUEST_ID).map(|id| id.to_str().unwrap().to_owned())
        };
        assert_eq!((sent(), request_id()), (None, String::new()));
        with_request_id("req_7".to_owned(), async {
            assert_eq!((sent().as_deref(), request_id().as_str()), (Some("req_7"), "req_7"));
        })
        .await;
    }
}
