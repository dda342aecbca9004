//! Chat completions, as `OpenAI`, Ollama, vLLM, llama.cpp, LM Studio and others have them.

mod decode;
mod request;

pub(super) use self::decode::ChatDecoder;
pub(super) use self::request::body;
