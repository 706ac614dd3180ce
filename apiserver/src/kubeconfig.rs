//! What clients need to find the server.

/// A kubeconfig with one cluster, one user and one context.
pub(crate) fn text(url: &str, token: Option<&str>) -> String {
    let user = token.map_or("{}".to_owned(), |token| format!("{{token: {}}}", quoted(token)));
    format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: schedlab\n  cluster: {{server: \"{url}\"}}\nusers:\n\
         - name: schedlab\n  user: {user}\ncontexts:\n- name: schedlab\n  context: {{cluster: schedlab, user: \
         schedlab}}\ncurrent-context: schedlab\n"
    )
}

/// JSON strings are YAML strings.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_quoted() {
        assert!(text("http://127.0.0.1:1", Some("a\"b")).contains("{token: \"a\\\"b\"}"));
        assert!(text("http://127.0.0.1:1", None).contains("user: {}"));
    }
}
