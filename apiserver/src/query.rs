//! The query of a URL: what a client may ask beside the path.

use schedlab_cluster::ApiError;

/// Percent-decoded pairs, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads `a=b&c=d`.
    pub(crate) fn parse(text: &str) -> Result<Query, ApiError> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name, Plus::IsSpace)?, decode(value, Plus::IsSpace)?))
        });
        pairs.collect::<Result<_, ApiError>>().map(Query)
    }

    /// The value of a parameter; none if it is absent or empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// A parameter that is true or false; a name alone is true.
    ///
    /// Upstream: apimachinery pkg/conversion/queryparams `Convert_Slice_string_To_bool`: all but `false` and
    /// `0` is true.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        let found = self.0.iter().find(|(known, _)| known == name)?;
        Some(!matches!(found.1.to_ascii_lowercase().as_str(), "false" | "0"))
    }

    /// A parameter that counts something.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, ApiError> {
        let read = |text: &str| {
            text.parse().map_err(|_| {
                ApiError::bad_request(format!("query parameter {name}={text:?} is not a whole number"))
            })
        };
        self.get(name).map(read).transpose()
    }
}

/// What a `+` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plus {
    IsSpace,
    IsPlus,
}

/// Percent-decodes a part of a URL.
pub(crate) fn decode(text: &str, plus: Plus) -> Result<String, ApiError> {
    if !text.contains(['%', '+']) {
        return Ok(text.to_owned());
    }
    let refused = || ApiError::bad_request(format!("{text:?} is not percent-encoded UTF-8"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' if plus == Plus::IsSpace => b' ',
            b'%' => {
                let high = rest.next().and_then(hex_digit).ok_or_else(refused)?;
                let low = rest.next().and_then(hex_digit).ok_or_else(refused)?;
                high << 4 | low
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| refused())
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_is_decoded_and_asked_by_name() {
        let query = Query::parse("watch=true&labelSelector=app%20in+(a%2Cb)&limit=500&a=1&a=2&x").unwrap();
        assert_eq!(query.flag("watch"), Some(true));
        assert_eq!(query.get("labelSelector"), Some("app in (a,b)"));
        assert_eq!(query.number("limit"), Ok(Some(500)));
        assert_eq!(query.number("timeoutSeconds"), Ok(None));
        assert_eq!(query.get("a"), Some("1"), "the first counts");
        assert_eq!((query.flag("x"), query.get("x"), query.flag("y")), (Some(true), None, None));
    }

    #[test]
    fn broken_encoding_and_numbers_are_refused() {
        for text in ["a=%", "a=%4", "a=%zz", "a=%ff"] {
            assert!(Query::parse(text).is_err(), "case: {text}");
        }
        assert!(Query::parse("limit=many").unwrap().number("limit").is_err());
        assert_eq!(decode("a+b", Plus::IsPlus).as_deref(), Ok("a+b"));
    }
}
