//! The person in front of a client, who answers questions.

use anyhow::{Context, Result, ensure};
use headwater_tests::TestWorker;
use serde_json::{Value, json};

use crate::client::{Era, McpClient, text_of};

/// What a person says to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Say {
    Once,
    Always,
    Refuse,
    /// Closes the dialogue, or declines to answer.
    Decline,
}

impl Say {
    /// The answer in the protocol.
    pub(crate) fn result(self) -> Value {
        let accept = |decision: &str| json!({"action": "accept", "content": {"decision": decision}});
        match self {
            Self::Once => accept("allow_once"),
            Self::Always => accept("allow_always"),
            Self::Refuse => accept("refuse"),
            Self::Decline => json!({"action": "decline"}),
        }
    }
}

/// The result of a call, and what the person was asked.
#[derive(Debug)]
pub(crate) struct Decided {
    pub(crate) result: Value,
    pub(crate) questions: Vec<Value>,
}

impl Decided {
    /// The text of a call that succeeded.
    pub(crate) fn text(&self) -> Result<String> {
        ensure!(self.result["isError"] != true, "{}", self.result);
        Ok(text_of(&self.result))
    }

    /// The text of a call that failed.
    pub(crate) fn refusal(&self) -> Result<String> {
        ensure!(self.result["isError"] == true, "{}", self.result);
        Ok(text_of(&self.result))
    }

    /// The text of the only question.
    pub(crate) fn question(&self) -> Result<&str> {
        let [question] = self.questions.as_slice() else { anyhow::bail!("not one question: {self:?}") };
        question["message"].as_str().context("no message")
    }
}

/// A client that shows forms to its person.
pub(crate) fn client(worker: &TestWorker, era: Era, words: &[&str]) -> Result<McpClient> {
    McpClient::declaring(worker, era, words, json!({"elicitation": {"form": {}}}))
}

/// The parameters of `tools/call`.
pub(crate) fn call(tool: &str, arguments: &Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

impl McpClient {
    /// Calls a tool. The person gives this answer to every question.
    pub(crate) fn decide(&mut self, tool: &str, arguments: &Value, say: Say) -> Result<Decided> {
        match self.era() {
            Era::Handshake(_) => self.decide_by_request(tool, arguments, say),
            Era::Stateless | Era::StatelessTasks => self.decide_by_repetition(tool, arguments, say),
        }
    }

    /// `exec_command` in the same way.
    pub(crate) fn run(&mut self, arguments: &Value, say: Say) -> Result<Decided> {
        self.decide("exec_command", arguments, say)
    }

    /// The next question of the server, with its id.
    pub(crate) fn asked(&mut self) -> Result<(Value, Value)> {
        let message = self.notification("elicitation/create")?;
        Ok((message["id"].clone(), message["params"].clone()))
    }

    /// Answers a question of the server.
    pub(crate) fn say(&mut self, id: &Value, say: Say) -> Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": say.result()}))
    }

    fn decide_by_request(&mut self, tool: &str, arguments: &Value, say: Say) -> Result<Decided> {
        let call = self.begin("tools/call", call(tool, arguments))?;
        let mut questions = Vec::new();
        loop {
            let message = self.read()?;
            if message["method"] == "elicitation/create" {
                self.say(&message["id"], say)?;
                questions.push(message["params"].clone());
            } else if message["id"] == call {
                ensure!(message.get("error").is_none(), "{message}");
                return Ok(Decided { result: message["result"].clone(), questions });
            } else {
                self.others.push(message);
            }
        }
    }

    fn decide_by_repetition(&mut self, tool: &str, arguments: &Value, say: Say) -> Result<Decided> {
        let mut result = self.result("tools/call", call(tool, arguments))?;
        let mut questions = Vec::new();
        while result["resultType"] == "input_required" {
            ensure!(questions.len() < 3, "the same question again and again: {questions:?}");
            questions.push(result["inputRequests"]["consent"]["params"].clone());
            result =
                self.result("tools/call", answered(call(tool, arguments), &result["requestState"], say))?;
        }
        Ok(Decided { result, questions })
    }
}

/// A call with the answer to the question of this state.
pub(crate) fn answered(mut call: Value, state: &Value, say: Say) -> Value {
    call["requestState"] = state.clone();
    call["inputResponses"] = json!({"consent": say.result()});
    call
}
