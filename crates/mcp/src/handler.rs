//! Each method of the protocol, delegated to its module.

use headwater_tools::Outcome;
use headwater_tools::policy::Question;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CreateTaskResult, CustomRequest, CustomResult,
    ErrorCode, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use serde_json::Value;

use crate::agents::Access;
use crate::consent::{self, Answer, Asked};
use crate::resources::{self, ResourceUri};
use crate::server::{Server, config};
use crate::tools::{Ended, Prepared};
use crate::{legacy, prompts, tasks, tools};

/// How long a client may keep a list that never changes while the server runs.
const LIST_TTL_MS: u64 = 3_600_000;

/// Methods whose parameters rmcp reads: it passes on what it cannot read as if it did not know the method.
const METHODS: &[&str] = &[
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/update",
    "tools/call",
    "tools/list",
];

type Context = RequestContext<RoleServer>;

/// How an attempt to call a tool went.
enum Attempt {
    /// It has a response.
    Response(Box<CallToolResponse>),
    /// A person must be asked; the outcome is for clients that cannot ask.
    Question(Box<Question>, Box<Outcome>),
}

impl Attempt {
    /// The response.
    fn into_response(self, name: &str) -> CallToolResponse {
        match self {
            Self::Response(response) => *response,
            Self::Question(_, outcome) => tools::result(name, *outcome).into(),
        }
    }
}

impl Server {
    /// Calls a tool. If a command needs a person's consent, they are asked, and the call is made again.
    async fn call(
        &self,
        name: &str,
        arguments: Value,
        answered: Option<(Question, Answer)>,
        context: &Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut approved = None;
        let mut answered = answered;
        loop {
            let mut prepared = match tools::prepare(self, name, arguments.clone(), context).await {
                Ok(prepared) => prepared,
                Err(refused) => return Ok((*refused).into()),
            };
            if let Some((question, answer)) = answered.take() {
                match tools::decided(&prepared.agent, &question, answer).await {
                    Ok(fingerprint) => approved = Some(fingerprint),
                    Err(refused) => return Ok(prepared.refuse(name, refused).into()),
                }
            }
            prepared.request.approved.clone_from(&approved);
            let response = self.attempt(name, prepared, context).await?;
            let Attempt::Question(question, outcome) = response else {
                return Ok(response.into_response(name));
            };
            // A call that was allowed is not asked about again.
            if approved.is_some() {
                return Ok(tools::result(name, *outcome).into());
            }
            match consent::ask(self.questions(), &question, context).await? {
                Asked::Later(required) => return Ok((*required).into()),
                Asked::Impossible => return Ok(tools::result(name, *outcome).into()),
                Asked::Answered(answer) => answered = Some((*question, answer)),
            }
        }
    }

    async fn attempt(&self, name: &str, prepared: Prepared, context: &Context) -> Result<Attempt, ErrorData> {
        let agent = prepared.agent.clone();
        let declares = context.client_capabilities().is_some_and(|client| client.supports_tasks());
        let patience = (declares && tasks::can_be_task(&prepared.request.call)).then_some(tasks::PATIENCE);
        match tools::call(prepared, context, patience).await? {
            Ended::Outcome(mut outcome) => Ok(match outcome.question.take() {
                Some(question) => Attempt::Question(question, outcome),
                None => Attempt::Response(Box::new(tools::result(name, *outcome).into())),
            }),
            Ended::Task(id) => {
                let execution = resources::execution(&agent, id).await?;
                let task = tasks::task(&agent, &execution).await?;
                Ok(Attempt::Response(Box::new(CallToolResponse::Task(CreateTaskResult::new(task)))))
            }
        }
    }

    fn address(&self, text: &str) -> Result<ResourceUri, ErrorData> {
        ResourceUri::parse(text, &self.agents().workspace())
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        config(self.agents())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list()).with_ttl_ms(LIST_TTL_MS))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let (state, responses) = (request.request_state.as_deref(), request.input_responses.as_ref());
        let answered = self.questions().take(state, responses);
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        self.call(&request.name, arguments, answered, &context).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()).with_ttl_ms(LIST_TTL_MS))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(prompts::get(&request.name, request.arguments.as_ref())?.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let agent = self.agent(&context, Access::Both).await?;
        let all = resources::list(&agent, &self.agents().workspace()).await?;
        Ok(ListResourcesResult::with_all_items(all))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let all = resources::templates(&self.agents().workspace());
        Ok(ListResourceTemplatesResult::with_all_items(all).with_ttl_ms(LIST_TTL_MS))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let parsed = self.address(&request.uri)?;
        let agent = self.agent(&context, parsed.access()).await?;
        tokio::select! {
            () = context.ct.cancelled() => Err(tools::cancelled()),
            read = resources::read(&agent, &request.uri, &parsed) => Ok(read?.into()),
        }
    }

    #[allow(deprecated, reason = "clients of 2025 have no other way")]
    async fn subscribe(&self, request: SubscribeRequestParams, context: Context) -> Result<(), ErrorData> {
        let parsed = self.address(&request.uri)?;
        let agent = self.agent(&context, parsed.access()).await?;
        self.subscriptions().add(agent, request.uri, parsed, context.peer.clone()).await
    }

    #[allow(deprecated, reason = "clients of 2025 have no other way")]
    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        self.subscriptions().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let addresses = requested.resource_subscriptions.iter().flatten();
        let valid = addresses.filter(|address| self.address(address).is_ok());
        let mut accepted = SubscriptionFilter::new();
        accepted.resource_subscriptions = Some(valid.take(resources::MAX_SUBSCRIPTIONS).cloned().collect());
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let agent = self.agent(context.request_context(), Access::Both).await?;
        let workspace = self.agents().workspace();
        tokio::select! {
            () = self.closing().cancelled() => Ok(()),
            listened = resources::listen(&agent, &workspace, &context) => listened,
        }
    }

    async fn get_task(&self, request: GetTaskParams, context: Context) -> Result<GetTaskResult, ErrorData> {
        let agent = self.agent(&context, Access::Output).await?;
        let execution = tasks::find(&agent, &request.task_id).await?;
        Ok(GetTaskResult::new(tasks::detailed(&agent, &execution).await?))
    }

    async fn update_task(&self, request: UpdateTaskParams, context: Context) -> Result<(), ErrorData> {
        // A program is never asked for input in this way, so there is nothing to update.
        let agent = self.agent(&context, Access::Output).await?;
        tasks::find(&agent, &request.task_id).await.map(drop)
    }

    async fn cancel_task(&self, request: CancelTaskParams, context: Context) -> Result<(), ErrorData> {
        let agent = self.agent(&context, Access::Cancel).await?;
        let execution = tasks::find(&agent, &request.task_id).await?;
        tasks::cancel(&agent, &execution).await.map(drop)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Result<CustomResult, ErrorData> {
        let params = request.params.unwrap_or_default();
        if let Some(method) = request.method.strip_prefix(legacy::PREFIX) {
            // Boxed, because it is large and rare.
            return Box::pin(tasks::legacy(self, method, &params, &context)).await.map(CustomResult::new);
        }
        if request.method == "tools/call"
            && let Some(name) = params.get("name").and_then(Value::as_str)
        {
            // Arguments that are not an object: the tool says what it expects, and reads the text of one.
            let arguments = params.get("arguments").cloned().unwrap_or_default();
            let response = self.call(name, arguments, None, &context).await?;
            let CallToolResponse::Complete(mut result) = response else {
                return Err(ErrorData::invalid_params("`arguments` must be an object", None));
            };
            if context.protocol_version().is_none_or(|version| version < ProtocolVersion::V_2026_07_28) {
                result.result_type = None;
            }
            let result = serde_json::to_value(result);
            return result
                .map(CustomResult::new)
                .map_err(|error| ErrorData::internal_error(error.to_string(), None));
        }
        if METHODS.contains(&request.method.as_str()) {
            let message = format!("the parameters of {} are missing or have the wrong type", request.method);
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method {:?}", request.method), None))
    }
}
