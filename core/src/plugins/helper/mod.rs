//! What several plugins share. Upstream: plugins/helper.

pub(crate) mod selector;
pub(crate) mod volume_texts;
pub(crate) mod volumes;
