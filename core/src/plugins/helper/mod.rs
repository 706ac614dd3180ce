//! What several plugins share. Upstream: plugins/helper.

#[cfg(test)]
pub(crate) mod hint_cases;
pub(crate) mod selector;
pub(crate) mod volume_texts;
pub(crate) mod volumes;
