//! A language model behind an endpoint for chat completions. There is none unless an operator names one.

use std::time::Duration;

use async_trait::async_trait;
use gateway_core::ports::{Model, ModelError};
use serde_json::{Value, json};

use crate::http::HttpUpstreamError;
use crate::json_post::JsonPost;

const MOST_BYTES: usize = 1024 * 1024;

pub struct HttpModel {
    post: JsonPost,
    model: String,
    timeout: Duration,
}

impl HttpModel {
    pub fn new(endpoint: &str, model: &str, key: Option<&str>, timeout: Duration) -> Result<Self, HttpUpstreamError> {
        let secrets: Vec<_> = key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect();
        Ok(Self { post: JsonPost::new(endpoint, &secrets)?, model: model.to_owned(), timeout })
    }
}

#[async_trait]
impl Model for HttpModel {
    async fn complete(&self, system: &str, user: &str) -> Result<String, ModelError> {
        let asked = json!({
            "model": self.model,
            "messages": [{ "role": "system", "content": system }, { "role": "user", "content": user }],
            "temperature": 0,
            "stream": false,
        });
        let sent = self.post.send(&asked, self.timeout, MOST_BYTES).await;
        let (status, body) = sent.map_err(|error| ModelError::Unavailable(error.into()))?;
        if !status.is_success() {
            return Err(ModelError::Unavailable(format!("HTTP status {}", status.as_u16()).into()));
        }
        let said: Value = serde_json::from_slice(&body).map_err(|_| ModelError::Unreadable)?;
        let content = said.pointer("/choices/0/message/content").and_then(Value::as_str);
        content.map(str::to_owned).ok_or(ModelError::Unreadable)
    }
}
