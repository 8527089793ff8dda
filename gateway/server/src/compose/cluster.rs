//! This node among the others on the same store.

use std::time::Duration;

use gateway_core::home::Home;
use gateway_upstream::HttpPeers;
use uuid::Uuid;

use super::ComposeError;
use crate::config::Config;

/// What a node may take beyond the longest call before its peers give up on its answer.
const PEER_MARGIN: Duration = Duration::from_secs(10);

/// The other nodes, whose certificates are checked like any server's unless the operator names an authority of their own.
pub fn peers(config: &Config) -> Result<HttpPeers, ComposeError> {
    let longest = config.limits.call_time + PEER_MARGIN;
    let Some(file) = &config.cluster.ca else {
        return Ok(HttpPeers::new(longest));
    };
    let broken = |what: String| ComposeError::Cluster(file.display().to_string(), what);
    let pem = std::fs::read(file).map_err(|error| broken(error.to_string()))?;
    HttpPeers::trusting(&pem, longest)
        .map_err(|error| broken(std::error::Error::source(&error).unwrap_or(&error).to_string()))
}

/// This process, and where its peers find it: a listener on every address of the machine names none of them.
pub fn home(config: &Config) -> Home {
    let scheme = if config.listen.tls.is_some() { "https" } else { "http" };
    let mcp = config.listen.mcp;
    let own = (!mcp.ip().is_unspecified()).then(|| format!("{scheme}://{mcp}"));
    Home { node: Uuid::new_v4(), at: config.cluster.advertise.clone().or(own) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn config(text: &str) -> Config {
        Config::parse(text, None, &|_| None).unwrap()
    }

    #[test]
    fn an_authority_that_cannot_be_used_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ca.pem");
        let text = format!("cluster: {{ ca: {} }}", file.display());
        let refused = |config: &Config| peers(config).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused(&config(&text)).starts_with("cluster.ca: "), "there is no such file");
        std::fs::write(&file, "no certificate").unwrap();
        assert!(refused(&config(&text)).ends_with("there is no certificate in it"), "{}", refused(&config(&text)));
        assert!(peers(&config("")).is_ok());
    }

    #[test]
    fn a_node_says_where_it_is_found() {
        let at = |text: &str| home(&config(text)).at;
        assert_eq!(at("listen: { mcp: '10.0.0.7:8080' }").as_deref(), Some("http://10.0.0.7:8080"));
        assert_eq!(at("listen: { mcp: '0.0.0.0:8080' }"), None, "every address is none");
        let told = "listen: { mcp: '0.0.0.0:8080' }\ncluster: { advertise: 'https://a.internal:8443' }";
        assert_eq!(at(told).as_deref(), Some("https://a.internal:8443"));
        assert_ne!(home(&config("")).node, home(&config("")).node, "a process that is started again is another");
    }
}
